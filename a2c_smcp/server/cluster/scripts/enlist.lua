-- A node connects, or connects again. Arguments: lease in milliseconds, Redis's run_id and uptime in milliseconds, and
-- '1' if the node was enlisted before under this name.
--
-- Another run_id means that Redis restarted, or that a replica took over: the last changes may be lost, and with them
-- seats whose members are still connected. Until every node has written them back, or must have given up, no seat is
-- given to a newcomer: `settling` exists. How long that takes is measured by the nodes on their own clocks (`beat`), as
-- Redis's clock may jump. Without any run_id, the cluster is new, unless this node knows better, or Redis started a
-- moment ago: then it may have lost everything.
--
-- Answers 'fenced' if the other nodes removed this one meanwhile, else Redis's time.

local lease, run, uptime, again = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8] == '1'

if tonumber(connection) < tonumber(redis.call('HGET', key('connections'), me) or 0) then
  return 'fenced'
end
local known = redis.call('GET', key('run'))
if known ~= run then
  redis.call('SET', key('run'), run)
  if known or again or uptime < 2 * lease then
    redis.call('SET', key('settling'), run)
  end
end
if again and redis.call('EXISTS', key('settling')) == 0 and not redis.call('ZSCORE', key('nodes'), me) then
  return 'fenced'
end
redis.call('ZADD', key('nodes'), string.format('%.0f', now() + lease), me)
redis.call('HSET', key('leases'), me, ARGV[5])
redis.call('HSET', key('connections'), me, connection)
redis.call('HSET', key('formats'), me, '2')
-- Messages to and from this node may be lost since it was connected last.
if again then
  for _, node in ipairs(redis.call('ZRANGE', key('nodes'), 0, -1)) do
    if node ~= me then
      send(node, '~ ' .. me .. '\n')
    end
  end
end
return now()
