"""The story, as data: a small coffee roastery in October 2026. Every file takes its figures from here, so they agree.

Amounts are in euro, weights in kilograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

COMPANY = "Fjellwick Coffee Roasters"
SUPPLIER = "Oskel & Prine Green Coffee"
OWNER, FINANCE, SALES, ROASTER = "Mara Lindahl", "Sam Okoye", "Aiko Tanabe", "Wei Lin"
BROKER = "Tomas Prine"

CONTRACT_SIGNED = date(2026, 3, 2)
COUNTED = date(2026, 10, 7)
"""When the stock was counted."""
REPORTED = datetime(2026, 10, 8, 9, 0, tzinfo=UTC)
"""When the files of the quarter were written: the date in all their metadata."""
BOARD_MEETS = date(2026, 10, 15)

# ---------------------------------------------------------------------------------------------------------------- sales


@dataclass(frozen=True, slots=True)
class Month:
    """What was sold in a month."""

    first: date
    kilograms: int
    wholesale: int
    online: int
    shop: int

    @property
    def total(self) -> int:
        """All channels."""
        return self.wholesale + self.online + self.shop


MONTHS = (
    Month(date(2026, 1, 1), 1_640, 21_400, 9_800, 6_200),
    Month(date(2026, 2, 1), 1_590, 20_900, 9_200, 6_050),
    Month(date(2026, 3, 1), 1_790, 23_600, 10_100, 6_900),
    Month(date(2026, 4, 1), 1_850, 24_200, 9_900, 7_400),
    Month(date(2026, 5, 1), 1_910, 25_100, 9_700, 8_300),
    Month(date(2026, 6, 1), 1_990, 26_300, 9_500, 9_100),
    Month(date(2026, 7, 1), 2_090, 27_800, 9_400, 9_900),
    Month(date(2026, 8, 1), 2_070, 26_900, 9_700, 10_300),
    Month(date(2026, 9, 1), 2_240, 29_300, 11_900, 9_300),
)
CHANNELS = ("wholesale", "online", "shop")


def quarter(number: int) -> Sequence[Month]:
    """The months of a quarter, counted from 1."""
    return MONTHS[3 * number - 3 : 3 * number]


def sold(months: Sequence[Month], channel: str = "total") -> int:
    """What some months brought, in all or through one channel; `kilograms` is what they weighed."""
    return sum(getattr(month, channel) for month in months)


Q2, Q3 = sold(quarter(2)), sold(quarter(3))
GROWTH = Q3 / Q2 - 1
Q3_KILOGRAMS = sold(quarter(3), "kilograms")
Q4_TARGET = 158_000


@dataclass(frozen=True, slots=True)
class Product:
    """A coffee that is sold, with its third quarter."""

    name: str
    made_of: str
    kilograms: int
    average_price: float
    wholesale_price: float

    @property
    def revenue(self) -> float:
        """Of the third quarter."""
        return self.kilograms * self.average_price


HARBOUR = Product("Harbour Blend", "Santos 70%, Sidama 30%", 2_600, 20.00, 17.50)
OLD_MILL = Product("Old Mill Espresso", "Santos 60%, Huila 40%", 1_700, 21.00, 18.50)
MORNING = Product("Morning Field", "Huila 100%", 1_000, 23.50, 20.00)
RIDGELINE = Product("Ridgeline Ethiopia", "Sidama 100%", 700, 31.00, 27.00)
NIGHT_FERRY = Product("Night Ferry Decaf", "Decaf Cauca 100%", 400, 29.00, 25.00)
PRODUCTS = (HARBOUR, OLD_MILL, MORNING, RIDGELINE, NIGHT_FERRY)


@dataclass(frozen=True, slots=True)
class Order:
    """A wholesale order of September."""

    day: int
    customer: str
    product: Product
    kilograms: int

    @property
    def amount(self) -> float:
        """At the wholesale price."""
        return self.kilograms * self.product.wholesale_price


ORDERS = (
    Order(2, "Hotel Marlstone", HARBOUR, 320),
    Order(3, "Bakery Tolle", OLD_MILL, 160),
    Order(7, "Café Petrichor", RIDGELINE, 60),
    Order(9, "Aldermouth Hospital", HARBOUR, 280),
    Order(10, "Ferry Kiosk", OLD_MILL, 120),
    Order(14, "Bistro Onze", MORNING, 90),
    Order(16, "The Reading Room", NIGHT_FERRY, 40),
    Order(21, "Hotel Marlstone", OLD_MILL, 180),
    Order(23, "Studio Nord", MORNING, 75),
    Order(25, "Aldermouth Hospital", NIGHT_FERRY, 50),
    Order(28, "Café Petrichor", RIDGELINE, 40),
    Order(30, "Bistro Onze", MORNING, 102),
)

# ---------------------------------------------------------------------------------------------------------------- costs

COSTS = {
    "Green coffee": (55_900, 61_200),
    "Roasting and energy": (8_900, 9_400),
    "Packaging": (7_900, 8_700),
    "Staff": (37_800, 38_500),
    "Rent and other": (12_100, 12_300),
}
"""Of the second and the third quarter."""
Q2_COSTS, Q3_COSTS = (sum(cost[number] for cost in COSTS.values()) for number in (0, 1))
Q2_RESULT, Q3_RESULT = Q2 - Q2_COSTS, Q3 - Q3_COSTS

# -------------------------------------------------------------------------------------------------- coffee and machines


@dataclass(frozen=True, slots=True)
class GreenCoffee:
    """Coffee that is bought: at which price, how much there is, and when to buy more."""

    code: str
    name: str
    origin: str
    price: float
    in_stock: int
    reorder_at: int


SIDAMA = GreenCoffee("G-01", "Sidama washed", "Ethiopia", 8.90, 540, 600)
GREEN = (
    SIDAMA,
    GreenCoffee("G-02", "Santos NY 2", "Brazil", 5.60, 2_380, 1_200),
    GreenCoffee("G-03", "Huila Excelso", "Colombia", 6.95, 1_460, 900),
    GreenCoffee("G-04", "Decaf Cauca", "Colombia", 8.20, 360, 240),
    GreenCoffee("G-05", "Antigua SHB", "Guatemala", 7.40, 720, 480),
)
SIDAMA_A_WEEK = 135
"""How much of it is roasted."""
SIDAMA_WEEKS = SIDAMA.in_stock // SIDAMA_A_WEEK


@dataclass(frozen=True, slots=True)
class Shipment:
    """Coffee on its way."""

    number: str
    coffee: GreenCoffee
    bags: int
    due: date
    expected: date

    @property
    def kilograms(self) -> int:
        """Of 60 in each bag."""
        return 60 * self.bags

    @property
    def value(self) -> float:
        """What it costs."""
        return self.kilograms * self.coffee.price

    @property
    def days_late(self) -> int:
        """How late it comes."""
        return (self.expected - self.due).days

    @property
    def credit(self) -> float:
        """What the supplier owes for that, by clause 4.2: one percent for each full week, five at most."""
        return round(self.value * min(self.days_late // 7, 5) / 100, 2)


LATE = Shipment("OP-117", SIDAMA, 60, date(2026, 10, 12), date(2026, 10, 26))
ON_TIME = Shipment("OP-118", GREEN[1], 40, date(2026, 10, 19), date(2026, 10, 19))
WINTER_KILOGRAMS = 500
"""The winter blend, half of it Sidama, that has to wait for the shipment."""
WINTER_START, WINTER_START_BEFORE = date(2026, 11, 2), date(2026, 10, 19)


@dataclass(frozen=True, slots=True)
class Machine:
    """A roasting machine."""

    name: str
    model: str
    batch_kilograms: int
    minutes: int
    bought: int
    serviced: date


MACHINES = (
    Machine("R1", "drum roaster, gas", 15, 14, 2019, date(2026, 8, 24)),
    Machine("R2", "drum roaster, gas", 30, 15, 2023, date(2026, 9, 14)),
    Machine("S1", "sample roaster, electric", 1, 9, 2021, date(2026, 5, 11)),
)
ROASTING_LOSS = 0.15
"""The weight that coffee loses."""

# ---------------------------------------------------------------------------------------------------------------- words


def euro(amount: float) -> str:
    """€144,500; cents only where there are any."""
    return f"€{amount:,.0f}" if amount == int(amount) else f"€{amount:,.2f}"


def percent(share: float, sign: bool = False) -> str:
    """11.6%."""
    return f"{share:+.1%}" if sign else f"{share:.1%}"


def day(when: date) -> str:
    """8 October 2026."""
    return f"{when.day} {when:%B %Y}"
