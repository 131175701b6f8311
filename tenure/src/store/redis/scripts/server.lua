-- What the server reports about itself: these fields of INFO, or a refusal that names the first one that is missing,
-- empty or zero. An identity without it would be the same after a loss of the server's data.
local function report(sections, fields)
  local info, found = {}, {}
  for place, section in ipairs(sections) do info[place] = redis.call('INFO', section) end
  info = table.concat(info)
  for _, field in ipairs(fields) do
    local value = string.match(info, '\n' .. field .. ':([^\r\n]*)') or ''
    if string.match(value, '^0*$') then
      return nil, {'refused', 'withheld', field, value, string.match(info, '\n(%w+_version:[^\r\n]*)') or ''}
    end
    found[field] = value
  end
  return found
end
local function identity(server) return server.run_id .. '/' .. server.master_replid end
