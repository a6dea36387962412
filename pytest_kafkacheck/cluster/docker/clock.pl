# Skews the wall clock of one JVM. It runs in a container that shares the JVM's process ids, and redirects the functions
# of the JVM's vDSO to the code of clock.S. It needs only perl-base, CAP_SYS_PTRACE, and CAP_DAC_OVERRIDE where the JVM
# does not run as root.
#
#   set OFFSET_NS PPM   from now on the clock shows the real time + OFFSET_NS, and gains PPM microseconds a second
#   get
#   clear               the clock shows the real time; the code stays in place and changes nothing
#
# Each prints one JSON object: installed; offset_ns and ppm as they were set; ahead_ns, by how much the clock is ahead
# now; held_us, how long the process was stopped for this call.
# Status: 2 for bad arguments, 3 when this machine does not allow it, 4 when there is no process that can be changed
# now, 5 when something went wrong. The message is on standard error.
#
# The process is stopped by ptrace and not by SIGSTOP, for two reasons: the first process of a container ignores a
# SIGSTOP from inside the container, and the kernel resumes all traced threads when this program ends in any way.
use strict;
use warnings;
no warnings 'portable'; # hex() of addresses
use POSIX ();

use constant {
  PTRACE => 101, GETREGS => 12, DETACH => 17, SEIZE => 0x4206, INTERRUPT => 0x4207, EVENT_STOP => 128,
  WAIT4 => 61, WNOHANG_WALL => 0x40000001,
  CLOCK_GETTIME => 228, REALTIME => 0, MONOTONIC => 1,
};
use constant {
  JUMP => 5,          # bytes of a jmp rel32
  LIMIT_NS => 3e9,    # for all threads to stop; a frozen one never does
  ATTEMPTS => 50,     # to find a moment when no thread is inside the bytes that become a jump
  LIMIT_S => 12,      # for everything
  LIMIT_PPM => 1e6,   # below minus this a clock would run backwards
  LIMIT_OFFSET => 1e18,
  MAGIC => 'kfkclk01', GENERATION => 8, SLOTS => 16, SLOT => 32, ENTRIES => 80,
};

# The header of clock.S says how to make these bytes.
my $STUB = pack 'H*', join '', qw(
  6b666b636c6b303100000000000000000000000000000000000000000000000000000000000000000000000000000000
  000000000000000000000000000000000000000000000000000000000000000058008f00ce0000004989f04189f9b8e4
  0000000f0585c0750b4585c974074183f9057401c34d691000ca9a3b4d035008e87e0000004989004989500831c0c349
  89f8b8600000000f0585c075304d85c0742b4d691000ca9a3b49694008e80300004901c2e84a00000049890089d031d2
  b9e8030000f7f14989400831c0c34989f84883ec18bf050000004889e6b8e40000000f054c69142400ca9a3b4c035424
  084883c418e8090000004d85c07403498900c34c8d1dfefeffff410fb60b89cf83e701c1e705498b743b084c89d0492b
  443b1049f76c3b18413a0b75dd480facd0204801f04c01d04899b900ca9a3b48f7f94885d279064801ca48ffc8c3
);
my @NAMES = qw(__vdso_clock_gettime __vdso_gettimeofday __vdso_time); # in the order of the stub's entries

my ($pid, $memory, %held);

sub fail { my ($status, $text) = @_; die { status => $status, text => $text } }

sub now {
  my $answer = "\0" x 16;
  syscall(CLOCK_GETTIME, $_[0], $answer);
  my ($seconds, $ns) = unpack 'q<2', $answer;
  return $seconds * 1_000_000_000 + $ns;
}

sub slurp {
  open my $file, '<:raw', $_[0] or return undef;
  local $/;
  return scalar <$file>;
}

# The first process if it is a JVM; otherwise, under an init process or a shell, the only JVM.
sub find_jvm {
  opendir my $all, '/proc' or fail(5, "cannot list /proc: $!");
  my @jvms = grep {
    (slurp("/proc/$_/comm") // '') eq "java\n" && (slurp("/proc/$_/cmdline") // '') !~ /StorageTool/
  } sort { $a <=> $b } grep { /^\d+$/ } readdir $all;
  return $jvms[0] if @jvms && ($jvms[0] == 1 || @jvms == 1);
  fail(4, @jvms ? "several JVMs run there (processes @jvms) and none is the first process" :
    'no JVM runs there: it has ended, or has not started yet');
}

sub peek {
  my ($at, $size) = @_;
  my $data = '';
  sysseek($memory, $at, 0);
  while (length $data < $size) {
    my $got = sysread $memory, $data, $size - length $data, length $data;
    fail(4, "process $pid ended while it was read") if defined $got && $got == 0;
    fail(5, sprintf 'cannot read %d bytes at %#x of process %d: %s', $size, $at, $pid, $!) if !defined $got;
  }
  return $data;
}

sub poke {
  my ($at, $data) = @_;
  sysseek($memory, $at, 0);
  my $put = syswrite $memory, $data;
  fail(5, sprintf 'cannot write at %#x of process %d: %s', $at, $pid, $!) if ($put // -1) != length $data;
  fail(5, sprintf 'what was written at %#x of process %d was not read back', $at, $pid) if peek($at, length $data) ne $data;
}

# Address and content of the vDSO.
sub vdso {
  my ($from, $to) = (slurp("/proc/$pid/maps") // '') =~ /^(\w+)-(\w+) .*\[vdso\]$/m
    or fail(3, "process $pid has no vDSO, or its map may not be read");
  ($from, $to) = (hex $from, hex $to);
  return ($from, peek($from, $to - $from));
}

# Offsets of the vDSO's functions, in the order of @NAMES; undef for a function that it does not have.
sub functions {
  my ($vdso) = @_;
  fail(3, 'the vDSO is not an ELF file for x86-64') if unpack('a4 C x13 v', $vdso) ne "\x7fELF"
    || unpack('x4 C', $vdso) != 2 || unpack('x18 v', $vdso) != 62;
  my ($table, $size, $count) = unpack 'x40 Q< x10 v v', $vdso;
  my @sections = map { [unpack 'V V Q< Q< Q< Q< V', substr $vdso, $table + $_ * $size, 48] } 0 .. $count - 1;
  my %found;
  for my $symbols (grep { $_->[1] == 11 } @sections) { # SHT_DYNSYM
    my $strings = $sections[$symbols->[6]][4];
    for (my $at = $symbols->[4]; $at < $symbols->[4] + $symbols->[5]; $at += 24) {
      my ($name, $value, $length) = unpack 'V x4 Q< Q<', substr $vdso, $at, 24;
      $found{unpack 'Z*', substr $vdso, $strings + $name} = $value if $length >= JUMP;
    }
  }
  fail(3, "the vDSO has no function $NAMES[0]") if !defined $found{$NAMES[0]};
  return @found{@NAMES};
}

# The first bytes of a function that is redirected to the stub: a jump.
sub jump {
  my ($function, $stub, $entry) = @_;
  return "\xe9" . pack 'l<', $stub + $entry - $function - JUMP;
}

# Stop every thread of the process. The caller must call release() afterwards, also after an error.
sub hold {
  my $until = now(MONOTONIC) + LIMIT_NS;
  my (%stopping, $new);
  do {
    # A thread that is not stopped yet may start another one, so look again until there is no new one.
    opendir my $threads, "/proc/$pid/task" or fail(4, "process $pid has ended");
    $new = 0;
    for my $thread (map { $_ + 0 } grep { /^\d+$/ } readdir $threads) {
      next if exists $held{$thread};
      if (syscall(PTRACE, SEIZE, $thread, 0, 0) != 0) {
        next if $!{ESRCH};
        fail(5, "thread $thread of process $pid cannot be stopped ($!); is a debugger attached to it?");
      }
      $new++;
      $held{$thread} = 0;
      $stopping{$thread} = 1;
      syscall(PTRACE, INTERRUPT, $thread, 0, 0);
    }
    while (%stopping) {
      for my $thread (map { $_ + 0 } keys %stopping) { # syscall() treats a string as a pointer
        my $status = "\0" x 4;
        my $got = syscall(WAIT4, $thread, $status, WNOHANG_WALL, 0);
        next if $got == 0;
        delete $stopping{$thread};
        $status = unpack 'V', $status;
        if ($got < 0 || ($status & 0xff) != 0x7f) { # it has ended
          delete $held{$thread};
        } elsif ($status >> 16 != EVENT_STOP) { # a signal was being delivered: deliver it at the release
          $held{$thread} = $status >> 8 & 0xff;
        }
      }
      if (%stopping) {
        fail(4, "process $pid did not stop within " . LIMIT_NS / 1e9 . ' s: it is frozen or not scheduled')
          if now(MONOTONIC) > $until;
        select undef, undef, undef, 0.0005;
      }
    }
  } while ($new);
  fail(4, "process $pid has ended") if !%held;
}

sub release {
  syscall(PTRACE, DETACH, $_ + 0, 0, $held{$_}) for keys %held;
  %held = ();
}

# The addresses at which the stopped threads will continue.
sub counters {
  return map {
    my $registers = "\0" x 216;
    syscall(PTRACE, GETREGS, $_ + 0, 0, $registers) == 0 ? unpack 'x128 Q<', $registers : ();
  } keys %held;
}

# Redirect the functions to the stub. Returns the microseconds for which the process was stopped.
sub redirect {
  my ($base, $functions, $jumps) = @_;
  for (1 .. ATTEMPTS) {
    my $since = now(MONOTONIC);
    my $done = eval {
      hold();
      my @at = counters();
      my $clear = 1;
      for my $function (@$functions) {
        # A thread at the first byte is no problem: it runs the whole jump next.
        $clear = 0 if grep { $_ > $base + $function && $_ < $base + $function + JUMP } @at;
      }
      if ($clear) {
        poke($base + $functions->[$_], $jumps->[$_]) for 0 .. $#$functions;
      }
      $clear;
    };
    my $problem = $@;
    release();
    die $problem if $problem;
    return (now(MONOTONIC) - $since) / 1000 if $done;
    select undef, undef, undef, 0.005;
  }
  fail(5, "at each of " . ATTEMPTS . ' attempts a thread was just entering a clock function; try again');
}

# Offset of the installed stub, or undef. A stub counts as installed only if every function jumps to it.
sub installed {
  my ($vdso, @functions) = @_;
  my $stub = index $vdso, MAGIC;
  return undef if $stub < 0;
  my @entries = unpack 'v3', substr $vdso, $stub + ENTRIES, 6;
  for (grep { defined $functions[$_] } 0 .. $#functions) {
    return undef if substr($vdso, $functions[$_], JUMP) ne jump($functions[$_], $stub, $entries[$_]);
  }
  return $stub;
}

sub state_of {
  my ($code) = @_;
  my $slot = unpack('C', substr $code, GENERATION) & 1;
  return unpack 'q<3', substr $code, SLOTS + $slot * SLOT, 24;
}

sub report {
  my ($stub, $held, $offset, $anchor, $rate) = @_;
  # The stub's formula, but in floating point: the number is for people and assertions.
  my $ahead = $offset + (now(REALTIME) - $anchor) * ($rate / 2**32);
  printf '{"installed": %s, "offset_ns": %d, "ppm": %.3f, "ahead_ns": %.0f, "held_us": %.0f}' . "\n",
    defined $stub ? 'true' : 'false', $offset, $rate * 1e6 / 2**32, $ahead, $held;
}

sub main {
  my ($verb, $offset, $ppm) = @_;
  fail(2, "usage: set OFFSET_NS PPM | get | clear, not '@_'") if !defined $verb
    || !($verb eq 'set' ? @_ == 3 && $offset =~ /^[-+]?\d+$/ && $ppm =~ /^[-+]?\d+(\.\d+)?$/ : @_ == 1)
    || $verb !~ /^(set|get|clear)$/;
  ($offset, $ppm) = (0, 0) if $verb ne 'set';
  fail(2, 'OFFSET_NS must be between -1e18 and 1e18, PPM between -1e6 and 1e6')
    if abs $offset > LIMIT_OFFSET || abs $ppm > LIMIT_PPM;
  my $machine = (POSIX::uname())[4];
  fail(3, "clocks can be skewed on x86-64 only, this machine is $machine") if $machine ne 'x86_64';

  $pid = find_jvm();
  open $memory, $verb eq 'get' ? '<:raw' : '+<:raw', "/proc/$pid/mem"
    or fail($!{ENOENT} || $!{ESRCH} ? 4 : 5, "cannot open the memory of process $pid: $!");
  my ($base, $vdso) = vdso();
  my @functions = functions($vdso);
  my $stub = installed($vdso, @functions);
  return report($stub, 0, defined $stub ? state_of(substr $vdso, $stub, length $STUB) : (0, 0, 0))
    if $verb eq 'get' || ($verb eq 'clear' && !defined $stub);

  my @state = ($offset + 0, now(REALTIME), sprintf('%.0f', $ppm * 2**32 / 1e6) + 0);
  if (defined $stub) {
    # Threads may be reading: fill the slot that is not valid, then make it valid by writing a single byte.
    my $generation = unpack 'C', substr $vdso, $stub + GENERATION;
    poke($base + $stub + SLOTS + (~$generation & 1) * SLOT, pack 'q<3', @state);
    poke($base + $stub + GENERATION, pack 'C', $generation + 1 & 255);
    return report($stub, 0, @state);
  }

  # A stub to which no function jumps is left from an interrupted attempt: reuse its space.
  my $space = index $vdso, MAGIC;
  if ($space < 0) {
    $space = length($vdso =~ s/\0+\z//r) + 127 & ~63; # after the last byte that is not zero, with a margin for zeros that belong to the code
    fail(3, sprintf 'after the vDSO are %d free bytes, %d are needed', length($vdso) - $space, length $STUB)
      if $space + length $STUB > length $vdso;
  }
  my $code = $STUB;
  substr $code, SLOTS, 24, pack 'q<3', @state;
  my @entries = unpack 'v3', substr $code, ENTRIES, 6;
  my @present = grep { defined $functions[$_] } 0 .. $#functions;
  my @jumps = map { jump($functions[$_], $space, $entries[$_]) } @present;
  for (0 .. $#present) {
    my $start = substr $vdso, $functions[$present[$_]], JUMP;
    fail(5, "$NAMES[$present[$_]] begins with a jump that kafkacheck did not write; only a restart of the process removes it")
      if $start =~ /^\xe9/ && $start ne $jumps[$_];
  }
  poke($base + $space, $code);
  my $held = redirect($base, [@functions[@present]], \@jumps);
  report($space, $held, @state);
}

$SIG{$_} = sub { fail(5, 'ended by a signal, or the time was up') } for qw(ALRM TERM INT HUP);
alarm LIMIT_S;
eval { main(@ARGV); 1 } and exit 0;
my $problem = $@;
release();
$problem = { status => 5, text => "$problem" } if !ref $problem;
print STDERR "$problem->{text}\n";
exit $problem->{status};
