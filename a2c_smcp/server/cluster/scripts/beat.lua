-- Extend the lease of a node, and remove one whose lease ended. Arguments: lease in milliseconds, the most seats to free
-- at once, the run_id of a Redis that this node has known for as long as a lease lasts ('' for none), then each node that has not extended its lease for as long as it lasts, with the end of the lease that this
-- node saw all the time.
--
-- How much time has passed is measured by the node that asks for the removal, on its own clock. Redis's clock may jump,
-- for example when a replica takes over; a node that cannot reach Redis at that moment still serves.
--
-- Answers 'fenced', or: Redis's time, whether seats are left to free, the numbers of nodes, offices, Agents and Computers,
-- and each other node with the end and the length of its lease.

local lease, most = tonumber(ARGV[5]), ARGV[6]

if not is_current() then
  return 'fenced'
end
local time = now()
redis.call('ZADD', key('nodes'), string.format('%.0f', time + lease), me)

if redis.call('GET', key('settling')) == ARGV[7] then
  redis.call('DEL', key('settling'))
end
local more = 0
if redis.call('EXISTS', key('settling')) == 0 then
  for i = 8, #ARGV, 2 do
    local score = redis.call('ZSCORE', key('nodes'), ARGV[i])
    if score == ARGV[i + 1] then
      -- One node at a time: Redis does nothing else meanwhile. The node asks again at once while any is left.
      if evict(ARGV[i], most) then
        strike(ARGV[i])
        more = i + 1 < #ARGV and 1 or 0
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
for _, node in ipairs(redis.call('ZRANGE', key('nodes'), 0, -1)) do
  if node ~= me then
    answer[#answer + 1] = node
    answer[#answer + 1] = redis.call('ZSCORE', key('nodes'), node)
    answer[#answer + 1] = redis.call('HGET', key('leases'), node)
  end
end
return answer
