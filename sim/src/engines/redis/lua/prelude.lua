-- Builds the environment of scripts from Lua's own. Called once, with the functions written in Rust. Redis makes some
-- tables read-only, which Lua itself can't do. Here an empty table replaces each of them: reads fall through to the
-- real table, writes meet __newindex.
local library, explain, message_of = ...

local readonly = {}

-- `level` as for error: 2 names the line of the assignment, 0 no line.
local function refuse(level)
    error("Attempt to modify a readonly table", level)
end

local function protect(real)
    local front = setmetatable({}, {
        __index = real,
        __newindex = function() refuse(3) end,
        __metatable = false,
    })
    readonly[front] = true
    return front
end

math.random, math.randomseed = nil, nil

local globals = {
    _VERSION = _VERSION, assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs,
    next = next, pairs = pairs, rawequal = rawequal, rawget = rawget, select = select,
    tonumber = tonumber, tostring = tostring, type = type, unpack = unpack,
    math = protect(math), string = protect(string), table = protect(table), redis = protect(library),
}
setmetatable(globals, {
    __index = function(_, name)
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
    end,
})

local strings = getmetatable("")
strings.__index, strings.__metatable = globals.string, false

-- Redis gives a script the text of an error, also where the error is a table.
local function settle(ok, first, ...)
    if ok then
        return ok, first, ...
    end
    return false, message_of(first)
end

function globals.pcall(...)
    return settle(pcall(...))
end

function globals.rawset(table, ...)
    if readonly[table] then
        refuse(0)
    end
    return rawset(table, ...)
end

function globals.setmetatable(table, ...)
    if readonly[table] then
        refuse(0)
    end
    return setmetatable(table, ...)
end

local environment = protect(globals)
globals._G = environment

local function guard(script)
    return xpcall(script, explain)
end

return environment, globals, guard
