-- Extend the lease of a node, and remove one whose lease ended. Arguments: lease in milliseconds, the most seats to free
-- at once, then each node that this one saw expired at its last beat, with the end of its lease at that time.
--
-- A node is removed only if it is still expired at the second look. Redis's clock may jump, for example when a replica
-- takes over: then every lease seems to have ended, and one beat of every node sets it right.
--
-- Answers 'fenced', or: Redis's time, whether seats are left to free, the numbers of nodes, offices, Agents and Computers, and the
-- expired nodes as the next beat needs them.

local lease, most = tonumber(ARGV[4]), ARGV[5]

if not redis.call('ZSCORE', key('nodes'), me) then
  return 'fenced'
end
local time = now()
redis.call('ZADD', key('nodes'), string.format('%.0f', time + lease), me)

local more = 0
if redis.call('EXISTS', key('settling')) == 0 then
  for i = 6, #ARGV, 2 do
    local score = redis.call('ZSCORE', key('nodes'), ARGV[i])
    if score == ARGV[i + 1] and tonumber(score) < time then
      if evict(ARGV[i], most) then
        strike(ARGV[i])
      else
        more = 1
      end
      break
    end
  end
end
local answer = {
  time,
  more,
  redis.call('ZCARD', key('nodes')),
  tonumber(redis.call('GET', key('offices')) or 0),
  redis.call('HLEN', key('agents')),
  tonumber(redis.call('GET', key('computers')) or 0),
}
for _, value in ipairs(redis.call('ZRANGEBYSCORE', key('nodes'), '-inf', string.format('%.0f', time - 1), 'WITHSCORES')) do
  answer[#answer + 1] = value
end
return answer
