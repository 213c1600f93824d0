-- Child processes for specs: start, signal, wait. LuaJIT's ffi on the C library.

local ffi = require("ffi")

ffi.cdef([[
int fork(void);
int execvp(const char *file, const char *const argv[]);
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
int chdir(const char *path);
int open(const char *path, int flags, int mode);
int dup2(int from, int to);
int kill(int pid, int sig);
int waitpid(int pid, int *status, int options);
void _exit(int code);
int poll(void *fds, unsigned long count, int timeout_ms);
int prctl(int option, unsigned long arg);
struct pl_spec_time { long sec, nsec; };
int clock_gettime(int id, struct pl_spec_time *out);
]])

local C = ffi.C
local M = {}

local O_WRONLY, O_CREAT, O_TRUNC, WNOHANG, PR_SET_PDEATHSIG = 1, 64, 512, 1, 1

M.signals = { HUP = 1, INT = 2, KILL = 9, USR1 = 10, USR2 = 12, ALRM = 14, TERM = 15, CONT = 18, STOP = 19 }

-- Seconds of the monotonic clock.
function M.now()
  local time = ffi.new("struct pl_spec_time")
  C.clock_gettime(1, time)
  return tonumber(time.sec) + tonumber(time.nsec) / 1e9
end

-- Sleeps between two checks of a condition; never a way to order events.
function M.pause(seconds)
  C.poll(nil, 0, math.max(1, math.floor(seconds * 1000)))
end

local Process = {}
Process.__index = Process

local function child(argv, options)
  C.prctl(PR_SET_PDEATHSIG, M.signals.KILL) -- nothing outlives the spec
  for name, value in pairs(options.env or {}) do
    if value == false then
      C.unsetenv(name)
    else
      C.setenv(name, value, 1)
    end
  end
  local out = C.open(options.stdout or "/dev/null", O_WRONLY + O_CREAT + O_TRUNC, 420)
  local err = C.open(options.stderr or "/dev/null", O_WRONLY + O_CREAT + O_TRUNC, 420)
  C.dup2(C.open("/dev/null", 0, 0), 0)
  C.dup2(out, 1)
  C.dup2(err, 2)
  if options.cwd then
    C.chdir(options.cwd)
  end
  local array = ffi.new("const char *[?]", #argv + 1)
  for i, word in ipairs(argv) do
    array[i - 1] = word
  end
  C.execvp(argv[1], array)
  C._exit(127)
end

-- argv: words; options: env (false unsets), stdout, stderr (files), cwd.
function M.start(argv, options)
  io.stdout:flush()
  local pid = C.fork()
  assert(pid >= 0, "fork failed")
  if pid == 0 then
    child(argv, options or {})
  end
  return setmetatable({ pid = pid }, Process)
end

function Process:signal(name)
  if not self.status then
    C.kill(self.pid, M.signals[name])
  end
end

local function decode(status)
  local signal = status % 128
  return signal == 0 and math.floor(status / 256) % 256 or nil, signal ~= 0 and signal or nil
end

-- True while it runs.
function Process:is_running()
  if self.status then
    return false
  end
  local status = ffi.new("int[1]")
  if C.waitpid(self.pid, status, WNOHANG) ~= self.pid then
    return true
  end
  self.status = status[0]
  self.code, self.died_of = decode(self.status)
  return false
end

-- The exit code (nil when a signal ended it, which is the second result), or an error after `seconds`.
function Process:wait(seconds)
  local ends = M.now() + (seconds or 30)
  while self:is_running() do
    if M.now() > ends then
      self:signal("KILL")
      error("process " .. self.pid .. " did not end within " .. (seconds or 30) .. " s", 2)
    end
    M.pause(0.005)
  end
  return self.code, self.died_of
end

-- Resident memory in bytes.
function Process:rss()
  for line in io.lines("/proc/" .. self.pid .. "/status") do
    local kib = line:match("^VmRSS:%s+(%d+)")
    if kib then
      return tonumber(kib) * 1024
    end
  end
end

return M
