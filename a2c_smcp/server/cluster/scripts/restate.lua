-- Make the seats of a node what the node says. Arguments: the number of connections that are gone, their sids, then
-- office, name, sid and role of each member. Answers the sids of members whose seat was given to another member.

local gone = tonumber(ARGV[4])
for i = 5, 4 + gone do
  local seat = redis.call('HGET', key('seats', me), ARGV[i])
  if seat then
    local length, rest = string.match(seat, '^(%d+) (.*)$')
    free(string.sub(rest, 1, length), string.sub(rest, length + 1), ARGV[i])
    redis.call('HDEL', key('seats', me), ARGV[i])
  end
end
local lost = {}
for i = 5 + gone, #ARGV, 4 do
  local office, name, sid, role = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local holder = sid_in(office, name)
  local agent = role == 'agent' and redis.call('HGET', key('agents'), office)
  if holder == '' and not agent then
    take(office, name, sid, role)
  elseif holder ~= sid then
    lost[#lost + 1] = sid
  end
end
return lost
