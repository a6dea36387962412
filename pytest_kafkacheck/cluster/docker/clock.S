# The code that replaces the vDSO's clock functions in a broker whose wall clock is skewed. It is x86-64 code, position
# independent, uses at most 40 bytes of stack, and changes only registers that a C function may change.
#
#   shown = real + offset + ((real - anchor) * rate >> 32)        all in ns; rate: drift, 1.0 being 2^32
#
# clock.pl contains the assembled bytes. After a change run:
#   as --64 -o clock.o clock.S && objcopy -O binary -j .text clock.o clock.bin && xxd -p -c 48 clock.bin
# and replace the bytes in $STUB there. A change of the layout needs a new magic string as well.

.intel_syntax noprefix
.text
start:
        .ascii  "kfkclk01"              # magic string: clock.pl finds the code by it
generation:
        .quad   0                       # the lowest bit of the lowest byte selects the valid slot
slots:
        .quad   0, 0, 0, 0              # offset, anchor, rate, unused
        .quad   0, 0, 0, 0
        .short  gettime - start, gettimeofday - start, time - start, 0

# int clock_gettime(edi: clock, rsi: struct timespec *)
gettime:
        mov     r8, rsi
        mov     r9d, edi
        mov     eax, 228
        syscall                         # changes rcx and r11 only
        test    eax, eax
        jnz     1f
        test    r9d, r9d                # CLOCK_REALTIME
        jz      2f
        cmp     r9d, 5                  # CLOCK_REALTIME_COARSE
        je      2f
1:      ret
2:      imul    r10, [r8], 1000000000
        add     r10, [r8 + 8]
        call    skew
        mov     [r8], rax
        mov     [r8 + 8], rdx
        xor     eax, eax
        ret

# int gettimeofday(rdi: struct timeval * or 0, rsi: struct timezone * or 0)
gettimeofday:
        mov     r8, rdi
        mov     eax, 96
        syscall
        test    eax, eax
        jnz     1f
        test    r8, r8
        jz      1f
        imul    r10, [r8], 1000000000
        imul    rax, [r8 + 8], 1000
        add     r10, rax
        call    skew
        mov     [r8], rax
        mov     eax, edx
        xor     edx, edx
        mov     ecx, 1000
        div     ecx
        mov     [r8 + 8], rax
        xor     eax, eax
1:      ret

# time_t time(rdi: time_t * or 0); reads a clock with ns, so that its seconds change when those of the others do
time:
        mov     r8, rdi
        sub     rsp, 24
        mov     edi, 5
        mov     rsi, rsp
        mov     eax, 228
        syscall
        imul    r10, [rsp], 1000000000
        add     r10, [rsp + 8]
        add     rsp, 24
        call    skew
        test    r8, r8
        jz      1f
        mov     [r8], rax
1:      ret

# r10: real ns; returns rax: seconds, rdx: ns. Leaves r8.
# The writer fills the slot that is not valid and then increments the generation; a reader that sees another
# generation after its calculation than before it starts again.
skew:
        lea     r11, [rip + generation]
1:      movzx   ecx, byte ptr [r11]
        mov     edi, ecx
        and     edi, 1
        shl     edi, 5
        mov     rsi, [r11 + rdi + 8]
        mov     rax, r10
        sub     rax, [r11 + rdi + 16]
        imul    qword ptr [r11 + rdi + 24]
        cmp     cl, [r11]
        jne     1b
        shrd    rax, rdx, 32
        add     rax, rsi
        add     rax, r10
        cqo
        mov     ecx, 1000000000
        idiv    rcx
        test    rdx, rdx                # before 1970 the ns are positive, too
        jns     2f
        add     rdx, rcx
        dec     rax
2:      ret
