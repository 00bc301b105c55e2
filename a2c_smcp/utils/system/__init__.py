"""The differences between Linux, macOS and Windows, each in the module that is named after it.

The rest of the code calls these modules and does not check `sys.platform`.
"""
