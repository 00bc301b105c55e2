-- Make the seats of a node what the node says. Arguments: the number of connections that are gone, their sids, then
-- office, name, sid, role, and dialect and version of each member. Answers the sids of members whose seat was given to another member.

if not is_current() then
  return {}
end
local gone = tonumber(ARGV[5])
for i = 6, 5 + gone do
  unseat(me, ARGV[i])
end
local lost = {}
for i = 6 + gone, #ARGV, 5 do
  local office, name, sid, role, speech = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local holder = sid_in(office, name)
  if holder ~= sid then
    -- It may have another seat: of a move that was committed here, and whose answer the node did not get.
    unseat(me, sid)
    local agent = role == 'agent' and redis.call('HGET', key('agents'), office)
    if holder == '' and not agent then
      take(office, name, sid, role, speech)
    else
      lost[#lost + 1] = sid
    end
  end
end
return lost
