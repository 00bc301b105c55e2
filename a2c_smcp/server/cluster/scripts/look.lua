-- Read an office for a decision about one name. Arguments: office, name. Answers the Agent's name, seat and dialect, and
-- the seat and dialect of the name; '' for each that there is not.

local office, name = ARGV[5], ARGV[6]
local agent = redis.call('HGET', key('agents'), office)

local function seat_of(holder)
  local seat = holder and redis.call('HGET', key('office', office), holder)
  if not seat then
    return '', ''
  end
  return seat, speech_in(redis.call('HGET', key('dialects', office), holder), seat)
end

local agent_seat, agent_speech = seat_of(agent)
local seat, speech = seat_of(name)
return { agent or '', agent_seat, agent_speech, seat, speech }
