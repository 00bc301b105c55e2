"""An Agent with an OpenAI model: it answers a question with the tools, windows and documents of an office.

    a2c server
    a2c computer --config examples/mcp.json --url http://127.0.0.1:8000 --office demo --name my-laptop

    pip install openai
    OPENAI_API_KEY=… python examples/agent_openai.py "What is due on Friday?"

This program uses the Responses API of OpenAI, or of the service at OPENAI_BASE_URL. For Chat Completions, use
`toolkit.openai()` for the tools and `results.for_openai()` for the results. MODEL selects another model. A2C_URL,
A2C_OFFICE and A2C_API_KEY select another office.
"""

import asyncio
import os
import sys
import textwrap
from typing import Any

from openai import AsyncOpenAI

from a2c_smcp.agent import AsyncSMCPAgentClient, Toolkit
from a2c_smcp.errors import SMCPError

URL = os.environ.get("A2C_URL", "http://127.0.0.1:8000")
OFFICE = os.environ.get("A2C_OFFICE", "demo")
API_KEY = os.environ.get("A2C_API_KEY")
MODEL = os.environ.get("MODEL", "gpt-6-luna")
MAX_ROUNDS = 10


async def answer(question: str, model: AsyncOpenAI, toolkit: Toolkit) -> str:
    """Let the model call tools until it knows the answer."""
    conversation: list[Any] = [{"role": "user", "content": question}]
    for _ in range(MAX_ROUNDS):
        tools = toolkit.openai_responses()  # in each round, because Computers join and leave
        response = await model.responses.create(model=MODEL, tools=tools, input=conversation)
        conversation += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for call in calls:
            print("calls", call.name, call.arguments)
        results = await toolkit.call_all((call.call_id, call.name, call.arguments) for call in calls)
        for result in results.values():  # a failure is a result, too
            print("fails:" if result.is_error else "gets:", textwrap.shorten(result.text, 200))
        conversation += results.for_openai_responses()
    sys.exit(f"No answer after {MAX_ROUNDS} rounds.")


async def main() -> None:
    async with (
        AsyncSMCPAgentClient.in_office(URL, OFFICE, "openai-agent", api_key=API_KEY) as agent,
        AsyncOpenAI() as model,
    ):
        print("Computers:", ", ".join(agent.computers) or "none")
        toolkit = Toolkit(agent, desktop=True, documents=True)
        print(await answer(" ".join(sys.argv[1:]), model, toolkit))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except SMCPError as error:
        sys.exit(f"{error} (error {error.code})")
