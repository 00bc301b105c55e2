"""A Computer in your own program: it offers one MCP server to an office, and asks you before a call runs.

    a2c server
    python examples/computer_embedded.py

    a2c agent --office demo call my-desk write_note text="Call Ann."

Run each line in its own terminal. The program asks for confirmation in the second one. Ctrl-C leaves the office and
stops the MCP server. A2C_URL, A2C_OFFICE and A2C_API_KEY select another office.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from a2c_smcp.computer import Computer, ServerState, SMCPComputerClient, server_from
from a2c_smcp.errors import SMCPError

URL = os.environ.get("A2C_URL", "http://127.0.0.1:8000")
OFFICE = os.environ.get("A2C_OFFICE", "demo")
API_KEY = os.environ.get("A2C_API_KEY")
NOTES = server_from({"command": sys.executable, "args": [str(Path(__file__).with_name("notes_server.py"))]}, "notes")


def may_run(req_id: str, server: str, tool: str, parameters: dict[str, Any]) -> bool:
    """Ask the person at this desk. The Computer calls a plain function in a separate thread, so it may block."""
    return input(f"May an Agent call {tool} of {server} with {parameters}? [y/N] ") == "y"


async def main() -> None:
    states: dict[str, ServerState] = {}

    def show_status(server: str) -> None:
        """Print a new state. The Computer also calls this for other changes, such as the number of tools."""
        for status in computer.status:
            if states.get(status.name) != status.state:
                states[status.name] = status.state
                print(f"{status.name}: {status.state}", f"({status.reason})" if status.reason else "")

    computer = Computer("my-desk", mcp_servers=[NOTES], confirm_callback=may_run, on_status_changed=show_status)
    async with computer, SMCPComputerClient.in_office(computer, URL, OFFICE, api_key=API_KEY):
        print(f"my-desk is in the office {OFFICE}. Press Ctrl-C to leave.")
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except SMCPError as error:
        sys.exit(f"{error} (error {error.code})")
    except KeyboardInterrupt:
        print("my-desk has left.")
