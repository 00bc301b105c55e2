-- The tables of a cluster, and the two changes that they know: a member takes a seat, a member gives up its seat.
--
-- Every script starts with this file. Its arguments begin with the prefix of all keys, the node that runs the script, the
-- number of the node's connection, and the command that publishes. All keys share one hash slot, because the prefix has
-- a hash tag: a script may read and change any of them in one step, also in a Redis Cluster.
--
--   nodes              sorted set   node -> end of its lease, in milliseconds of Redis's clock
--   leases             hash         node -> the length of its lease, in milliseconds
--   connections        hash         node -> the number of its latest connection
--   office:OFFICE      hash         name -> "ARRIVAL SID ROLE", a seat
--   spread:OFFICE      hash         node -> its number of members in the office
--   dialects:OFFICE    hash         name -> "SID DIALECT VERSION", of members that named one when they connected
--   formats            hash         node -> '2' if it reads the dialect in a message about a seat
--   seats:NODE         hash         sid -> "LENGTH OFFICE NAME", where LENGTH is that of OFFICE
--   agents             hash         office -> the name of its Agent
--   computer:NAME      set          offices that have a Computer of that name
--   arrivals           number       counts members that took a seat: a roster is in order of arrival
--   computers          number       Computers in all offices
--   offices            number       offices with at least one member
--   run                text         the run_id of the Redis that holds these tables
--   settling           text         exists while nodes may still have to write back what Redis lost; the run_id since
--   inbox:NODE         channel      messages for a node

local prefix, me, connection, publish = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function key(table, id)
  return prefix .. ':' .. table .. (id and ':' .. id or '')
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Whether this node may change the tables. It may not after the others removed it. Nor may a connection that the node
-- has replaced: what was on its way when it broke may arrive after the node has written its seats again.
local function is_current()
  return redis.call('HGET', key('connections'), me) == connection
end

local function sid_of(seat)
  return string.match(seat, '^%d+ (%S+) ')
end

local function role_of(seat)
  return string.match(seat, ' (%a+)$')
end

local function node_of(sid)
  return string.match(sid, '^[^.]+')
end

local function send(node, message)
  redis.call(publish, key('inbox', node), message)
end

-- The dialect and version of a member; '' if there are none. A node of an older version frees seats without this table,
-- so what it says of another connection does not count.
local function speech_in(entry, seat)
  local sid, speech = string.match(entry or '', '^(%S+) (.*)$')
  return sid == sid_of(seat) and speech or ''
end

-- Tell the nodes with members in an office about a seat: '+' that it is taken, '-' that it is free. The node of the
-- member itself knows. A node of an older version reads no dialect: to it, the member is one without.
local function announce(sign, office, name, seat, speech)
  local own = node_of(sid_of(seat))
  for _, node in ipairs(redis.call('HKEYS', key('spread', office))) do
    if node ~= own then
      local is_told = speech ~= '' and redis.call('HGET', key('formats'), node) == '2'
      local facts = is_told and seat .. ' ' .. speech or seat
      send(node, sign .. ' ' .. #office .. ' ' .. facts .. '\n' .. office .. name)
    end
  end
end

-- The seats of an office: name, seat, and dialect and version of each.
local function seats_of(office)
  local seats, found = redis.call('HGETALL', key('office', office)), {}
  local entries, spoken = redis.call('HGETALL', key('dialects', office)), {}
  for i = 1, #entries, 2 do
    spoken[entries[i]] = entries[i + 1]
  end
  for i = 1, #seats, 2 do
    found[#found + 1] = seats[i]
    found[#found + 1] = seats[i + 1]
    found[#found + 1] = speech_in(spoken[seats[i]], seats[i + 1])
  end
  return found
end

-- Give a member a seat that is free; its number of arrival, and whether it is the first of its node in the office.
local function take(office, name, sid, role, speech)
  local arrival = redis.call('INCR', key('arrivals'))
  local seat = string.format('%.0f', arrival) .. ' ' .. sid .. ' ' .. role
  local node = node_of(sid)
  if redis.call('EXISTS', key('office', office)) == 0 then
    redis.call('INCR', key('offices'))
  end
  redis.call('HSET', key('office', office), name, seat)
  if speech ~= '' then
    redis.call('HSET', key('dialects', office), name, sid .. ' ' .. speech)
  end
  redis.call('HSET', key('seats', node), sid, #office .. ' ' .. office .. name)
  local is_first = redis.call('HINCRBY', key('spread', office), node, 1) == 1
  if role == 'agent' then
    redis.call('HSET', key('agents'), office, name)
  else
    redis.call('SADD', key('computer', name), office)
    redis.call('INCR', key('computers'))
  end
  announce('+', office, name, seat, speech)
  return arrival, is_first
end

-- Free the seat of a connection, if it has that seat.
local function free(office, name, sid)
  local seat = redis.call('HGET', key('office', office), name)
  if not seat or sid_of(seat) ~= sid then
    return
  end
  redis.call('HDEL', key('seats', node_of(sid)), sid)
  redis.call('HDEL', key('office', office), name)
  redis.call('HDEL', key('dialects', office), name)
  if redis.call('HINCRBY', key('spread', office), node_of(sid), -1) <= 0 then
    redis.call('HDEL', key('spread', office), node_of(sid))
  end
  if role_of(seat) == 'agent' then
    redis.call('HDEL', key('agents'), office)
  else
    redis.call('SREM', key('computer', name), office)
    redis.call('DECR', key('computers'))
  end
  if redis.call('EXISTS', key('office', office)) == 0 then
    redis.call('DECR', key('offices'))
    redis.call('DEL', key('dialects', office))
  end
  announce('-', office, name, seat, '')
end

-- Free the seat that a connection of a node has, if it has one.
local function unseat(node, sid)
  local seat = redis.call('HGET', key('seats', node), sid)
  if seat then
    local length, rest = string.match(seat, '^(%d+) (.*)$')
    free(string.sub(rest, 1, length), string.sub(rest, length + 1), sid)
    redis.call('HDEL', key('seats', node), sid)
  end
end

-- Free up to `most` seats of a node; whether it has none left.
local function evict(node, most)
  for _, sid in ipairs(redis.call('HRANDFIELD', key('seats', node), most)) do
    unseat(node, sid)
  end
  return redis.call('EXISTS', key('seats', node)) == 0
end

-- Remove a node that has no seats left, and tell the others: calls that wait for an answer from it end.
local function strike(node)
  redis.call('ZREM', key('nodes'), node)
  redis.call('HDEL', key('leases'), node)
  redis.call('HDEL', key('connections'), node)
  redis.call('HDEL', key('formats'), node)
  for _, other in ipairs(redis.call('ZRANGE', key('nodes'), 0, -1)) do
    send(other, '! ' .. node .. '\n')
  end
end

local function sid_in(office, name)
  local seat = name and redis.call('HGET', key('office', office), name)
  return seat and sid_of(seat) or ''
end
