"""A stdio MCP server as a small company would have one: orders, labels and couriers, and two windows. It is what the
pictures of the console show."""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server import ServerRequestContext as Context
from mcp.server.stdio import stdio_server

Body = dict[str, Any]
TEXT: Body = {"type": "string"}
ORDERS: list[Body] = [
    {"id": "A-1042", "customer": "Café Lumen", "item": "House blend, 5 kg", "total": 94.5, "state": "packed"},
    {"id": "A-1043", "customer": "Hotel Aurora", "item": "Decaf, 10 kg", "total": 171.0, "state": "roasting"},
    {"id": "A-1044", "customer": "茶与咖啡", "item": "Yirgacheffe, 3 kg", "total": 81.9, "state": "paid"},
]
ORDER: Body = {**TEXT, "description": "The number of the order, such as A-1042."}
READ = types.ToolAnnotations(read_only_hint=True)
DELETE = types.ToolAnnotations(destructive_hint=True)
OUTSIDE = types.ToolAnnotations(open_world_hint=True)
WINDOWS = {
    "window://roastery.example/orders?priority=80": "Open orders",
    "window://roastery.example/roaster?priority=40": "The roaster",
}


def tool(name: str, about: str, hints: types.ToolAnnotations | None = None, /, *optional: str, **fields: Body) -> Any:
    """A tool whose fields are required, except those that are named."""
    required = [field for field in fields if field not in optional]
    schema: Body = {"type": "object", "properties": fields, "required": required}
    return types.Tool(name=name, description=about, input_schema=schema, annotations=hints)


TOOLS: list[types.Tool] = [
    tool(
        "find_orders", "Find orders by customer, item or state.", READ, "state", "most", text=TEXT,
        state={**TEXT, "enum": ["paid", "roasting", "packed", "sent"], "description": "Only orders in this state."},
        most={"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
    ),
    tool("show_order", "Show one order with its items, payment and parcels.", READ, order=ORDER),
    tool(
        "refund_order", "Pay the money for an order back. This cannot be undone.", DELETE, "note", order=ORDER,
        amount={"type": "number", "minimum": 0, "description": "In euros."}, note=TEXT,
    ),
    tool("print_labels", "Print the labels of all parcels of a day.", None, day={**TEXT, "format": "date"}),
    tool("book_courier", "Book a courier for the parcels of today.", OUTSIDE, parcels={"type": "integer"}),
    tool("plan_roast", "Plan the batches of the next roast.", READ, kilos={"type": "number"}),
]  # fmt: skip


async def list_tools(context: Context, params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    given = params.arguments or {}
    match params.name:
        case "find_orders":
            words = str(given.get("text", "")).lower()
            found = [order for order in ORDERS if words in json.dumps(order, ensure_ascii=False).lower()]
            lines = [f"{each['id']}  {each['customer']}  {each['item']}  {each['state']}" for each in found]
            return result("\n".join(lines) or "no such order", orders=found, total=len(found))
        case "print_labels":
            for number in range(1, 9):
                await context.session.report_progress(number, 8, f"label {number} for {given['day']}")
            return result("8 labels are printed")
        case "book_courier":
            question = f"Which courier shall fetch {given['parcels']} parcels?"
            form: Body = {"courier": {**TEXT, "enum": ["bicycle", "van"]}, "note": TEXT}
            answer = await context.session.elicit_form(question, {"type": "object", "properties": form})
            return result(f"booked: {json.dumps(answer.content)}")
        case "refund_order":
            return result(f"{given['amount']} EUR go back to the customer of {given['order']}")
        case "show_order" if given.get("order") not in [order["id"] for order in ORDERS]:
            return types.CallToolResult(content=[types.TextContent(text="the order does not exist")], is_error=True)
        case _:
            return result(f"{params.name}: {json.dumps(given)}")


def result(text: str, **structured: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured or None)


async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
    windows = [types.Resource(uri=uri, name=name, mime_type="text/plain") for uri, name in WINDOWS.items()]
    return types.ListResourcesResult(resources=windows)


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    if "orders" in params.uri:
        lines = [f"{each['id']}  {each['state']:9} {each['total']:7.2f} EUR  {each['customer']}" for each in ORDERS]
        text = "\n".join([*lines, "", "3 open orders, the oldest from Monday."])
    else:
        text = "Batch 17: House blend, 12 kg\nDrum 198 °C, first crack in about 2 minutes"
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=text)])


async def subscribe(context: Context, params: object) -> types.EmptyResult:
    return types.EmptyResult()


async def main() -> None:
    server = Server(
        "roastery",
        version="2.1.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=subscribe,
    )
    sys.stderr.write("roastery 2.1.0 is connected to the shop\nwarning: the label printer is low on paper\n")
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
