"""Texts that people write by hand: notes, ideas, the handbook, and the line about this folder."""

from __future__ import annotations

from library.figures import (
    COMPANY,
    COUNTED,
    GROWTH,
    LATE,
    MACHINES,
    Q3,
    ROASTER,
    ROASTING_LOSS,
    SIDAMA,
    SIDAMA_A_WEEK,
    SIDAMA_WEEKS,
    WINTER_KILOGRAMS,
    WINTER_START,
    day,
    euro,
    percent,
)


def about() -> bytes:
    """What the folder is."""
    return b"# About this folder\n\nThe files in this folder are fictional samples for you to try.\n"


def standup() -> bytes:
    """Notes of two short meetings."""
    return f"""\
# Stand-up notes, week 41

Every morning at 8:15, standing, ten minutes. Newest first.

## Wednesday, {day(COUNTED)}

Shipment **{LATE.number}** comes on {day(LATE.expected)}, {LATE.days_late} days late. We counted:

| Green coffee | In stock | A week | Lasts |
| --- | ---: | ---: | ---: |
| {SIDAMA.name} | {SIDAMA.in_stock} kg | {SIDAMA_A_WEEK} kg | {SIDAMA_WEEKS} weeks |

- [x] Count the stock (Wei)
- [x] Answer Tomas: no bags by air (Mara)
- [ ] Move the winter blend to {day(WINTER_START)} in the plan (Wei)
- [ ] Write to the winter customers (Aiko)

How many batches the winter blend takes:

```bash
python tools/roast_planner.py {WINTER_KILOGRAMS} --machine R2
```

## Monday, 5 October 2026

The quarter is closed: {euro(Q3)}, {percent(GROWTH, sign=True)} on the last. Cake at four.

- [x] Send the figures to Mara (Sam)
- [x] Clean the cooling tray of R1 (Wei)
- [ ] New photograph of the shop for the website (Aiko)
""".encode()


def ideas() -> bytes:
    """A list of ideas."""
    return b"""\
Ideas for the winter

Nothing here is decided. Add yours at the bottom.

- A subscription as a gift: three, six or twelve months, first bag in a tin.
- Cascara: tea of dried coffee cherries. Oskel & Prine could send samples with the next lot.
- Open the roastery on the first Saturday of each month. Wei shows a batch, people take the bag home.
- Ferry Kiosk wants smaller bags: 125 g for travellers.
- A map on the wall of where every coffee comes from, with the names of the farms.
"""


def handbook() -> bytes:
    """The roasting handbook, in Chinese."""
    batches = "\n".join(
        f"| {machine.name} | {machine.batch_kilograms} 公斤 | {machine.minutes} 分钟 |" for machine in MACHINES
    )
    return f"""\
# 烘焙手册

{COMPANY} 内部使用。编写：{ROASTER}，2026 年 9 月。

## 开机前检查

1. 清理冷却盘和银皮收集器。
2. 检查燃气压力和排风。
3. 预热到 205 °C，保持二十分钟。

## 设备

| 机器 | 每批生豆 | 每批时间 |
| --- | --- | --- |
{batches}

烘焙后重量减少约 {ROASTING_LOSS:.0%}：要得到 {WINTER_KILOGRAMS} 公斤熟豆，需要约 \
{WINTER_KILOGRAMS / (1 - ROASTING_LOSS):.0f} 公斤生豆。

## 烘焙曲线

- **回温点**：入豆后约两分钟，豆温约 97 °C。
- **一爆**：约 194 至 197 °C，注意听声音。
- **发展时间**：从一爆到出豆，应占总时间的 18% 左右。

> 升温速率应平稳下降；一爆前出现回升，说明火力过大。

## 品控

每批留样 100 克，第二天杯测。低于 83 分的批次不得出售，并在当天的记录中说明原因。
""".encode()
