-- What Redis 7.0 gives to scripts, over what Lua 5.1 has. Called with: the libraries that are written in Rust, a function
-- that makes a table or a text of an error that Rust has raised, and one that says in which line the script is.
-- Returns: the environment of scripts, the table behind it, the table behind `redis`, and a function that runs a script.
local libraries, untangle, line = ...
local globals, raw_redis, behind = {}, libraries.redis, {}
local error, type, rawset, rawget, pcall, xpcall, setfenv, tostring, tonumber, select =
    error, type, rawset, rawget, pcall, xpcall, setfenv, tostring, tonumber, select
local getmetatable, setmetatable, loadstring, load, pairs, next, ipairs =
    getmetatable, setmetatable, loadstring, load, pairs, next, ipairs

-- Tables that nobody writes. Lua 5.1 has none: they are empty ones before others. What writes without asking a table's
-- `__newindex` is to look into `behind`; but for `table.insert`, all that does so in `table` leaves an empty one alone.
local function protected(table, missing)
    local front = {}
    behind[front] = table
    return setmetatable(front, {
        __index = function(_, name)
            local value = rawget(table, name)
            if value == nil and missing then
                missing(name)
            end
            return value
        end,
        __newindex = function()
            error("Attempt to modify a readonly table", 2)
        end,
        __metatable = false,
    })
end

-- The real server's own functions raise this, and those say no place.
local function refuse_protected(table)
    if behind[table] then error("Attempt to modify a readonly table", 0) end
end

-- Whoever misuses a function is told so where it has called that.
local function expect(kind, name, ...)
    local got = type((...))
    if got == kind or got == "number" and kind == "string" then return end
    if select("#", ...) == 0 then got = "no value" end
    error("bad argument #1 to '" .. name .. "' (" .. kind .. " expected, got " .. got .. ")", 3)
end

local function expect_values(name, count, ...)
    local place = select("#", ...) + 1
    if place <= count then error("bad argument #" .. place .. " to '" .. name .. "' (value expected)", 3) end
end

local function inserting(insert)
    return function(...)
        expect("table", "insert", ...)
        local table, place, value = ...
        local count = select("#", ...)
        if count ~= 2 and count ~= 3 then error("wrong number of arguments to 'insert'", 2) end
        if count == 3 and not tonumber(place) then
            error("bad argument #2 to 'insert' (number expected, got " .. type(place) .. ")", 2)
        end
        refuse_protected(table)
        if count == 2 then insert(table, place) else insert(table, place, value) end
    end
end

local environment = protected(globals, function(name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 3)
end)

for _, name in ipairs({
    "assert", "collectgarbage", "error", "gcinfo", "ipairs", "rawequal", "select", "tonumber", "tostring",
    "type", "unpack", "_VERSION",
}) do
    globals[name] = _G[name]
end
globals._G = environment
for _, name in ipairs({ "string", "table", "math", "coroutine" }) do
    globals[name] = protected(_G[name])
end
behind[globals.table].insert = inserting(table.insert)
-- Threads need no protection, but their errors are those of `pcall`.
globals.math = protected(setmetatable({ random = libraries.random, randomseed = libraries.randomseed }, nil))
for name, value in pairs(math) do
    if behind[globals.math][name] == nil then
        behind[globals.math][name] = value
    end
end
getmetatable("").__metatable = protected({ __index = globals.string })
globals.cjson = protected(libraries.cjson)
globals.cmsgpack = protected(libraries.cmsgpack)
globals.bit = protected(libraries.bit)
globals.redis = protected(raw_redis)
globals.os = nil

-- What `getmetatable(_G)` shows: nobody writes it either.
local guarded = protected({})

globals.next = function(...)
    expect("table", "next", ...)
    local table, name = ...
    return next(behind[table] or table, name)
end
globals.pairs = function(...)
    expect("table", "pairs", ...)
    local table = ...
    return pairs(behind[table] or table)
end
globals.rawget = function(...)
    expect("table", "rawget", ...)
    expect_values("rawget", 2, ...)
    local table, name = ...
    return rawget(behind[table] or table, name)
end
globals.getmetatable = function(...)
    expect_values("getmetatable", 1, ...)
    local value = ...
    if value == environment then return guarded end
    if behind[value] then return nil end
    return getmetatable(value)
end
globals.setmetatable = function(...)
    expect("table", "setmetatable", ...)
    local table, meta = ...
    if select("#", ...) < 2 or meta ~= nil and type(meta) ~= "table" then
        error("bad argument #2 to 'setmetatable' (nil or table expected)", 2)
    end
    refuse_protected(table)
    if not pcall(setmetatable, table, meta) then error("cannot change a protected metatable", 2) end
    return table
end
globals.rawset = function(...)
    expect("table", "rawset", ...)
    expect_values("rawset", 3, ...)
    local table, name, value = ...
    refuse_protected(table)
    return rawset(table, name, value)
end

local function confined(made, failure)
    if made then setfenv(made, environment) end
    return made, failure
end
globals.loadstring = function(...)
    expect("string", "loadstring", ...)
    local text, name = ...
    if type(text) == "string" and text:byte(1) == 27 then return nil, "no bytecode is loaded" end
    return confined(loadstring(text, name or text))
end
globals.load = function(...)
    expect("function", "load", ...)
    local source, name = ...
    local first = true
    return confined(load(function()
        local piece = source()
        if first and type(piece) == "string" and piece:byte(1) == 27 then error("no bytecode is loaded") end
        first = false
        return piece
    end, name))
end

-- A text for a table with a text, as Redis 7.0 has it.
local function told(ok, failure, ...)
    if ok then return ok, failure, ... end
    failure = untangle(failure)
    if type(failure) == "table" and type(failure.err) == "string" then failure = failure.err end
    return false, failure
end
globals.pcall = function(...) return told(pcall(...)) end
globals.xpcall = function(...)
    if select("#", ...) < 2 then error("bad argument #2 to 'xpcall' (value expected)", 2) end
    local run, handler = ...
    return xpcall(run, function(failure) return handler(untangle(failure)) end)
end

local function handler(failure)
    failure = untangle(failure)
    if type(failure) ~= "table" then
        failure = { err = "ERR " .. tostring(failure) }
    end
    failure.line = line()
    return failure
end
globals.__redis__err__handler = handler

local function single(name)
    return function(...)
        local text = ...
        if select("#", ...) ~= 1 or type(text) ~= "string" then
            return { err = "ERR wrong number or type of arguments" }
        end
        return { [name] = text }
    end
end
raw_redis.status_reply = single("ok")
local as_error = single("err")
raw_redis.error_reply = function(...)
    local reply = as_error(...)
    if reply.err:sub(1, 1) == "-" then reply.err = reply.err:sub(2) end
    if not reply.err:find(" ", 1, true) then reply.err = "ERR " .. reply.err end
    return reply
end
for number, name in pairs({ [0] = "LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING" }) do
    raw_redis[name] = number
end
raw_redis.REPL_NONE, raw_redis.REPL_AOF, raw_redis.REPL_SLAVE, raw_redis.REPL_REPLICA, raw_redis.REPL_ALL = 0, 1, 2, 2, 3
raw_redis.REDIS_VERSION, raw_redis.REDIS_VERSION_NUM = "7.0.15", 0x0007000f
raw_redis.replicate_commands = function() return true end
-- Numbers as C has them: what is none is 0, and there are no fractions.
raw_redis.set_repl = function(...)
    local flags = tonumber((...)) or 0
    if select("#", ...) ~= 1 then error({ err = "ERR redis.set_repl() requires two arguments." }) end
    if not (flags > -1 and flags < 4) then
        error({ err = "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE." })
    end
end
raw_redis.log = function(...)
    local level = tonumber((...))
    if select("#", ...) < 2 then error({ err = "ERR redis.log() requires two arguments or more." }) end
    if not level then error({ err = "ERR First argument must be a number (log level)." }) end
    if not (level > -1 and level < 4) then error({ err = "ERR Invalid debug level." }) end
end
raw_redis.breakpoint = function() return false end
raw_redis.debug = function() end

-- A function of a library is given its keys and arguments; a script finds them among the globals.
local function run(script, ...)
    if select("#", ...) == 0 then return xpcall(script, handler) end
    local keys, arguments = ...
    return xpcall(function() return script(keys, arguments) end, handler)
end

return environment, globals, raw_redis, run
