"""The dialects of the protocol: how each published SDK spells the same answers.

`known` has one value for each dialect, `recognition` finds the dialect of a client, `versions` checks a pinned version.
A dialect decides nothing: the rules of offices and routing are the same for all of them, and are in `protocol.server`.
"""
