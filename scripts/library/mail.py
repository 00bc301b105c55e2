"""`mail/supplier-delay.eml`: the supplier tells of the delay, in HTML, with the new dates attached as a table."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime

from library.figures import BROKER, FINANCE, LATE, ON_TIME, OWNER, ROASTER, SUPPLIER, Shipment, day, euro

SENT = datetime(2026, 10, 6, 14, 12, tzinfo=UTC)
SHIPMENTS = (LATE, ON_TIME)


def mail() -> bytes:
    """The mail."""
    message = EmailMessage()
    message["From"] = _address(BROKER, "oskel-prine.example")
    message["To"] = _address(OWNER, "fjellwick.example")
    message["Cc"] = ", ".join(_address(name, "fjellwick.example") for name in (ROASTER, FINANCE))
    message["Subject"] = f"Shipment {LATE.number} is delayed by two weeks"
    message["Date"] = format_datetime(SENT)
    message["Message-ID"] = "<20261006141200.117@oskel-prine.example>"
    message.set_content(_body(), subtype="html", cte="quoted-printable")
    message.add_attachment(_dates(), subtype="csv", filename="arrival-dates.csv")
    message.set_boundary("=_arrival_dates")
    return message.as_bytes()


def _address(name: str, domain: str) -> str:
    return f"{name} <{name.split()[0].lower()}@{domain}>"


def _body() -> str:
    rows = "\n".join(
        f"<tr><td>{shipment.number}</td><td>{shipment.coffee.name}</td><td>{shipment.bags}</td>"
        f"<td>{day(shipment.due)}</td><td>{day(shipment.expected)}</td></tr>"
        for shipment in SHIPMENTS
    )
    return f"""\
<html><body style="font-family: Georgia, serif">
<p>Dear {OWNER.split()[0]},</p>
<p>I am sorry to bring bad news: the vessel with <b>{LATE.number}</b> waits for a berth, and your {LATE.bags} bags of
{LATE.coffee.name} will reach you on <b>{day(LATE.expected)}</b> instead of {day(LATE.due)}.</p>
<table border="1" cellpadding="4">
<tr><th>Shipment</th><th>Coffee</th><th>Bags</th><th>Was due</th><th>Now expected</th></tr>
{rows}
</table>
<p>As clause 4.2 of our agreement has it, we credit you for two full weeks: {euro(LATE.credit)}, which is 2% of
{euro(LATE.value)}.</p>
<p>What we do meanwhile:</p>
<ul>
<li>a truck is booked for the morning after unloading,</li>
<li>two bags go by air if you need them for samples; let me know by Friday.</li>
</ul>
<p>The dates are attached as a table.</p>
<p>Kind regards<br>{BROKER}<br>{SUPPLIER}</p>
</body></html>
""".replace("Oskel & Prine", "Oskel &amp; Prine")


def _dates() -> str:
    """The attached table."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["shipment", "coffee", "bags", "kilograms", "due", "expected", "days_late"])
    writer.writerows(map(_row, SHIPMENTS))
    return target.getvalue()


def _row(shipment: Shipment) -> list[object]:
    names = [shipment.number, shipment.coffee.name, shipment.bags, shipment.kilograms]
    return [*names, shipment.due, shipment.expected, shipment.days_late]
