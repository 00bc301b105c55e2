"""`pictures/`: a label as a drawing, and the shop as a picture."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from library.figures import COMPANY, RIDGELINE, SALES

SIZE, SCALE, COLOURS = (480, 320), 3, 48
"""Drawn larger, then made smaller: that is what makes edges smooth."""
SKY, HILL, STREET, WALL, WOOD = "#CFE3EA", "#A9BFA0", "#8C8378", "#F3E9DC", "#5B3A29"
GLASS, LIGHT, CLOTH, DOOR = "#FFE9B8", "#FFD37A", "#C0563D", "#2F4B45"

_LABEL = """\
<svg xmlns="http://www.w3.org/2000/svg" width="360" height="480" viewBox="0 0 360 480" role="img">
  <title>Label of {name}, 250 g</title>
  <desc>The label of a bag of coffee: a mountain ridge under a low sun, name, origin, roast date and weight.</desc>
  <rect width="360" height="480" rx="18" fill="#f3e9dc"/>
  <rect x="14" y="14" width="332" height="452" rx="12" fill="none" stroke="#5b3a29" stroke-width="2"/>
  <circle cx="180" cy="150" r="52" fill="#e0a458"/>
  <path d="M30 230 L95 130 L140 185 L190 105 L250 190 L285 150 L330 230 Z" fill="#7a8f6a"/>
  <path d="M30 230 L110 175 L165 215 L225 165 L330 230 Z" fill="#4f6350"/>
  <g fill="#5b3a29" text-anchor="middle" font-family="Georgia, serif">
    <text x="180" y="58" font-size="15" letter-spacing="3">{company}</text>
    <text x="180" y="282" font-size="32" font-weight="bold">{first}</text>
    <text x="180" y="312" font-size="22" font-style="italic">{rest}</text>
    <text x="180" y="350" font-size="15">Sidama, washed · 1,950 m</text>
    <text x="180" y="374" font-size="15">jasmine, apricot, honey</text>
    <text x="180" y="416" font-size="13">Roasted on 28 September 2026</text>
    <text x="180" y="444" font-size="18" font-weight="bold">250 g</text>
  </g>
</svg>
"""


def label() -> bytes:
    """The label of a bag of coffee."""
    first, _, rest = RIDGELINE.name.partition(" ")
    return _LABEL.format(name=RIDGELINE.name, company=COMPANY.upper(), first=first, rest=rest).encode()


def storefront() -> bytes:
    """The shop, drawn in few colours."""
    large = Image.new("RGB", (SIZE[0] * SCALE, SIZE[1] * SCALE), SKY)
    _street(_Scaled(large))
    _house(_Scaled(large))
    few = large.reduce(SCALE).quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    about = PngInfo()
    about.add_text("Title", f"The shop of {COMPANY}")
    about.add_text("Author", SALES)
    about.add_text("Description", "A striped awning, a lit window with bags of coffee, and a green door.")
    target = io.BytesIO()
    few.save(target, "PNG", optimize=True, pnginfo=about)
    return target.getvalue()


class _Scaled:
    """Draws in the coordinates of the finished picture."""

    def __init__(self, picture: Image.Image) -> None:
        self._draw = ImageDraw.Draw(picture)

    def box(self, left: float, top: float, right: float, bottom: float, colour: str, radius: float = 0) -> None:
        corners = [left * SCALE, top * SCALE, right * SCALE, bottom * SCALE]
        self._draw.rounded_rectangle(corners, radius * SCALE, fill=colour)

    def oval(self, left: float, top: float, right: float, bottom: float, colour: str) -> None:
        self._draw.ellipse([left * SCALE, top * SCALE, right * SCALE, bottom * SCALE], fill=colour)

    def shape(self, points: list[tuple[float, float]], colour: str) -> None:
        self._draw.polygon([(x * SCALE, y * SCALE) for x, y in points], fill=colour)

    def words(self, x: float, y: float, words: str, size: float, colour: str) -> None:
        font = ImageFont.load_default(size * SCALE)
        self._draw.text((x * SCALE, y * SCALE), words, fill=colour, font=font, anchor="mm")


def _street(draw: _Scaled) -> None:
    draw.oval(-80, 120, 240, 360, HILL)
    draw.oval(280, 100, 600, 380, HILL)
    draw.box(0, 270, 480, 320, STREET)
    draw.box(0, 270, 480, 277, "#B8AE9F")


def _house(draw: _Scaled) -> None:
    draw.box(70, 60, 410, 270, WALL)
    draw.shape([(55, 62), (425, 62), (395, 30), (85, 30)], WOOD)
    draw.box(95, 76, 385, 110, WOOD, 5)
    draw.words(240, 93, COMPANY.upper(), 16, GLASS)
    draw.box(95, 135, 290, 245, WOOD, 3)
    draw.box(101, 141, 284, 239, GLASS)
    draw.oval(180, 146, 204, 170, LIGHT)
    for number in range(5):
        left = 112 + number * 34
        draw.box(left, 190, left + 24, 226, (WOOD, CLOTH, DOOR)[number % 3], 3)
        draw.box(left + 4, 202, left + 20, 214, WALL)
    draw.box(101, 226, 284, 232, WOOD)
    draw.box(315, 140, 380, 270, DOOR, 4)
    draw.box(324, 150, 371, 210, GLASS, 3)
    draw.oval(368, 222, 375, 229, LIGHT)
    for number in range(10):
        left = 88 + number * 30.4
        colour = CLOTH if number % 2 == 0 else "#FFF7EC"
        draw.shape([(left + 4, 116), (left + 34.4, 116), (left + 30.4, 140), (left, 140)], colour)
        draw.oval(left, 132, left + 30.4, 148, colour)
    for left in (82, 292):
        draw.box(left, 248, left + 18, 270, CLOTH, 3)
        draw.oval(left - 5, 226, left + 23, 254, "#4F6350")
