"""An Agent with an Anthropic model: it answers a question with the tools, windows and documents of an office.

    a2c server
    a2c computer --config examples/mcp.json --url http://127.0.0.1:8000 --office demo --name my-laptop

    pip install anthropic
    ANTHROPIC_API_KEY=… python examples/agent_anthropic.py "What is due on Friday?"

This program needs no event loop; agent_openai.py is an async program. MODEL selects another model. A2C_URL, A2C_OFFICE
and A2C_API_KEY select another office.
"""

import os
import sys
import textwrap
from typing import Any

from anthropic import Anthropic

from a2c_smcp.agent import SMCPAgentClient, SyncToolkit
from a2c_smcp.errors import SMCPError

URL = os.environ.get("A2C_URL", "http://127.0.0.1:8000")
OFFICE = os.environ.get("A2C_OFFICE", "demo")
API_KEY = os.environ.get("A2C_API_KEY")
MODEL = os.environ.get("MODEL", "claude-sonnet-5-5")
MAX_ROUNDS = 10


def answer(question: str, model: Anthropic, toolkit: SyncToolkit) -> str:
    """Let the model call tools until it knows the answer."""
    conversation: list[Any] = [{"role": "user", "content": question}]
    for _ in range(MAX_ROUNDS):
        tools = toolkit.anthropic()  # in each round, because Computers join and leave
        message = model.messages.create(model=MODEL, max_tokens=8000, tools=tools, messages=conversation)
        conversation.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        for call in calls:
            print("calls", call.name, call.input)
        results = toolkit.call_all((call.id, call.name, call.input) for call in calls)
        for result in results.values():  # a failure is a result, too
            print("fails:" if result.is_error else "gets:", textwrap.shorten(result.text, 200))
        conversation += results.for_anthropic()
    sys.exit(f"No answer after {MAX_ROUNDS} rounds.")


def main() -> None:
    with (
        SMCPAgentClient.in_office(URL, OFFICE, "anthropic-agent", api_key=API_KEY) as agent,
        Anthropic() as model,
    ):
        print("Computers:", ", ".join(agent.computers) or "none")
        toolkit = SyncToolkit(agent, desktop=True, documents=True)
        print(answer(" ".join(sys.argv[1:]), model, toolkit))


if __name__ == "__main__":
    try:
        main()
    except SMCPError as error:
        sys.exit(f"{error} (error {error.code})")
