"""The Socket.IO clients that an Agent and a Computer are, on top of python-socketio.

Each layer builds on the one before it, once for asyncio and once for threads:

- `packet`: Socket.IO packets, with a size limit and errors instead of exceptions for bad input.
- `async_engine`, `sync_engine`: Engine.IO, with the fast path over a WebSocket (`fast_path`).
- `async_internals`, `sync_internals`: the private hooks of the library's clients, as the hooks of `base`.
- `async_connection`, `sync_connection`: a connection that reconnects.
- `async_client`, `sync_client`: requests (`pending`), and a seat in an office.

The engines and connections are written by hand for each form, because tasks and threads differ there. The other
blocking modules are generated from the asynchronous ones by `scripts/generate_sync.py`.
"""

from a2c_smcp.utils import light_socketio as _  # noqa: F401  # before any module here imports socketio
