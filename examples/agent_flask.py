"""An Agent in a Flask application: the tools, windows and documents of an office over plain HTTP.

    a2c server
    a2c computer --config examples/mcp.json --url http://127.0.0.1:8000 --office demo --name my-laptop

    pip install flask
    flask --app examples/agent_flask.py run

    curl http://127.0.0.1:5000/tools
    curl http://127.0.0.1:5000/my-laptop/call/greet --json '{"who": "world"}'
    curl http://127.0.0.1:5000/my-laptop/desktop
    curl http://127.0.0.1:5000/my-laptop/documents?keyword=notes
    curl http://127.0.0.1:5000/my-laptop/read?uri=dpe://notes.example/notes/pages/0

The requests of all threads share one Agent. An office has only one Agent, so run the application in one process:
`gunicorn --workers 1 --threads 20 'examples.agent_flask:create_app()'`.
"""

import atexit
import os
from contextlib import ExitStack
from typing import Any

from flask import Flask, request

from a2c_smcp.agent import SMCPAgentClient
from a2c_smcp.errors import SMCPError

URL = os.environ.get("A2C_URL", "http://127.0.0.1:8000")
OFFICE = os.environ.get("A2C_OFFICE", "demo")
API_KEY = os.environ.get("A2C_API_KEY")


def create_app() -> Flask:
    app = Flask(__name__)
    until_exit = ExitStack()
    atexit.register(until_exit.close)
    agent = until_exit.enter_context(SMCPAgentClient.in_office(URL, OFFICE, "flask-agent", api_key=API_KEY))

    @app.get("/tools")
    def tools() -> Any:
        return {computer: [tool["name"] for tool in tools] for computer, tools in agent.tools.items()}

    @app.post("/<computer>/call/<tool>")
    def call(computer: str, tool: str) -> Any:
        result = agent.emit_tool_call(computer, tool, request.get_json(), timeout=30)
        return result.to_json()

    @app.get("/<computer>/desktop")
    def desktop(computer: str) -> Any:
        return agent.get_desktop_from_computer(computer)["desktops"]

    @app.get("/<computer>/documents")
    def documents(computer: str) -> Any:
        return list(agent.iter_documents(computer, keywords=request.args.getlist("keyword")))

    @app.get("/<computer>/read")
    def read(computer: str) -> Any:
        return agent.read_resource(computer, request.args["uri"])

    @app.errorhandler(SMCPError)
    def answer_error(error: SMCPError) -> Any:
        return {"code": error.code, "message": error.message}, error.code if error.code < 600 else 404

    return app


if __name__ == "__main__":
    create_app().run()
