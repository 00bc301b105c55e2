"""`a2c up`: a Server, a Computer and what it offers, in one command.

The command's process supervises two others, the Server's and the Computer's. Each gets the plan as the first line of
its standard input, which it then holds as a lifeline: when it ends, so does the part. What a part has to tell comes as
lines of JSON on its standard output, its log on standard error.
"""
