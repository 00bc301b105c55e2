-- Read all seats of an office. Argument: the office. Answers name, seat, and dialect and version of each member.

return seats_of(ARGV[5])
