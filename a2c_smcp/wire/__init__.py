"""Engine.IO 4 and Socket.IO 5 as state machines: text goes in, values come out, what to send is a value as well.

No socket, no event loop, no thread, no clock: a shell moves the bytes and tells the time. `connection.Connection` is
the whole of it for one client; `session` is its transport, `namespace` its place in the one namespace that is served.
"""
