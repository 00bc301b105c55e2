"""`a2c up`: a Server and a Computer with documents, in one command.

The process of the command supervises two others: the Server and the Computer. Each reads its plan from the first line
of standard input. The pipe then stays open as a lifeline: when it closes, the child stops, even if the supervisor was
killed. Children report on standard output, as lines of JSON, and log to standard error.
"""
