"""The Server in a FastAPI application with its own routes. Clients need the key in A2C_API_KEY.

    pip install fastapi
    A2C_API_KEY=a-secret-key python examples/server_fastapi.py

    A2C_API_KEY=a-secret-key a2c computer --config examples/mcp.json --url http://127.0.0.1:8000 --office demo
    A2C_API_KEY=a-secret-key a2c agent --office demo tools
    curl -H "x-api-key: a-secret-key" http://127.0.0.1:8000/offices/demo

Run the last three lines in other terminals. On Ctrl-C, running calls can finish. To start it with uvicorn directly:

    A2C_API_KEY=a-secret-key uvicorn examples.server_fastapi:app --port 8000 --timeout-graceful-shutdown 5 \\
        --ws-max-size 20000000 --ws-per-message-deflate false
"""

import os
import secrets
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException

from a2c_smcp.server import DefaultAuthenticationProvider, aget_computers_in_office, create_app, run

API_KEY = os.environ["A2C_API_KEY"]
smcp = create_app(DefaultAuthenticationProvider(API_KEY))
app = FastAPI(title="My application", lifespan=smcp.lifespan)


def check_key(x_api_key: Annotated[str, Header()] = "") -> None:
    if not secrets.compare_digest(x_api_key.encode(), API_KEY.encode()):
        raise HTTPException(401, "the header x-api-key must hold the key")


@app.get("/offices/{office_id}", dependencies=[Depends(check_key)])
async def who_is_there(office_id: str) -> list[str]:
    """The Computers in an office."""
    return [computer["name"] for computer in await aget_computers_in_office(office_id, smcp.sio)]


# Mount it after all routes: at "/" it receives every path that no route above matches, and hides routes below it.
app.mount("/", smcp)


if __name__ == "__main__":
    run(smcp, inside=app, port=int(os.environ.get("PORT", "8000")))
