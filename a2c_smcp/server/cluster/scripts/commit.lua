-- Move one member. Arguments: its sid and role; the office and name that it gives up ('' for none); the office and name
-- that it takes ('' for none), the sids of the Agent and of the namesake there when the move was decided, and its dialect
-- and version.
--
-- Compares and sets: answers 'changed', and changes nothing, if the office is no longer as it was read. Answers 'fenced'
-- to a node that the others have removed, and 'settling' while Redis may lack seats. Else the answer is the number of the
-- member's arrival; or the whole office, if this is the node's first member in it; or 'done' if no seat was taken.

local sid, role, from, old, to, new = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]

if not is_current() then
  return 'fenced'
end
if to ~= '' then
  if redis.call('EXISTS', key('settling')) == 1 then
    return 'settling'
  end
  local agent = redis.call('HGET', key('agents'), to)
  if sid_in(to, agent) ~= ARGV[11] or sid_in(to, new) ~= ARGV[12] then
    return 'changed'
  end
end
if from ~= '' then
  free(from, old, sid)
end
if to == '' then
  return 'done'
end
-- It may have another seat: of a move whose answer its node did not get.
unseat(node_of(sid), sid)
local arrival, is_first = take(to, new, sid, role, ARGV[13])
return is_first and seats_of(to) or arrival
