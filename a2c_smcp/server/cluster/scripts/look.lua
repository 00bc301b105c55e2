-- Read an office for a decision about one name. Arguments: office, name. Answers the Agent's name and seat, and the seat
-- of the name; '' for each that there is not.

local office, name = ARGV[5], ARGV[6]
local agent = redis.call('HGET', key('agents'), office)
return {
  agent or '',
  agent and redis.call('HGET', key('office', office), agent) or '',
  redis.call('HGET', key('office', office), name) or '',
}
