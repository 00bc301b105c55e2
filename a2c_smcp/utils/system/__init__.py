"""What differs between Linux, macOS and Windows: each difference once, in the module named after it.

The rest of the code asks these modules and has no `sys.platform` of its own.
"""
