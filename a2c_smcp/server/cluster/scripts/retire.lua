-- A node stops: free up to a number of its seats. Answers 1 if there are more, 0 when it is removed.

if not is_current() then
  return 0
end
if evict(me, ARGV[5]) then
  strike(me)
  return 0
end
return 1
