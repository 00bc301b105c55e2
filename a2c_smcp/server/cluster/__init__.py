"""Several Server processes as one Server, on Redis.

Each process is a node. Its clients are its own; the offices are shared. `node` keeps the lease that lets a node serve
offices, `registry` decides which member has which seat, `calls` relays between nodes, and `link` is the connection to
Redis. The scripts in `scripts/` run inside Redis, each in one step.
"""
