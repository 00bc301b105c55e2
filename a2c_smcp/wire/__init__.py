"""The Server's side of Engine.IO 4 and Socket.IO 5, as state machines: text goes in, values come out, and packets to
send wait in an outbox.

Nothing here has a socket, an event loop, a thread or a clock: a shell moves the bytes and passes the time. The ASGI and
the WSGI shell therefore share every line of the protocol, and tests run it without I/O. `connection.Connection` is the
state of one client; `session` is its transport, `namespace` its place in the one namespace that is served.
"""
