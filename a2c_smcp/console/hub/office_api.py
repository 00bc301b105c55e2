"""The operations on what one office offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from a2c_smcp.console.hub import office_shapes as shapes
from a2c_smcp.console.hub.office_views import OfficeViews
from a2c_smcp.console.hub.trials import Trials
from a2c_smcp.console.web.operations import Operation

OFFICE = "/offices/{office}"


def office_operations(views: OfficeViews, trials: Trials) -> Sequence[Operation]:
    """All of them. Each takes the Agent's seat of the office, if nobody has it."""
    return (
        Operation("GET", f"{OFFICE}/tools", views.tools, "List the tools of an office.", shapes.OfficeTools),
        Operation("GET", f"{OFFICE}/tools/{{computer}}/{{tool}}", views.tool, "Show a tool.", shapes.ToolDetail),
        Operation(
            "POST",
            f"{OFFICE}/calls",
            trials.call,
            "Call a tool. The answer is a stream of the events `started`, `progress`, `questions`, and `result` or "
            "`failed`; to close it cancels the call.",
            body=shapes.CallForm,
            is_stream=True,
        ),
        Operation(
            "POST",
            f"{OFFICE}/calls/{{id}}/replies",
            trials.reply,
            "Answer the questions of a call, which `started` named.",
            body=shapes.Replies,
        ),
        Operation(
            "GET",
            f"{OFFICE}/desktop",
            views.desktop,
            "Show the windows of a Computer.",
            shapes.Desktop,
            query=shapes.DesktopQuery,
        ),
        Operation(
            "GET",
            f"{OFFICE}/documents",
            views.documents,
            "List documents of a Computer.",
            shapes.Documents,
            query=shapes.DocumentQuery,
        ),
        Operation(
            "GET",
            f"{OFFICE}/documents/pages",
            views.pages,
            "Show a document and some of its pages.",
            dict[str, Any],
            query=shapes.PagesQuery,
        ),
        Operation(
            "GET",
            f"{OFFICE}/documents/page",
            views.page,
            "Read a page of a document: its elements, and the same as Markdown.",
            shapes.DocumentPage,
            query=shapes.PageQuery,
        ),
        Operation(
            "GET",
            f"{OFFICE}/changes",
            views.changes,
            "Follow what changes in an office: `change` has the kind and the Computer.",
            query=shapes.ChangesQuery,
            is_stream=True,
            is_activity=False,
        ),
    )
