    # ReplyRecv. Eligible if no thread waits at the endpoint.
4:  escapement_find
    mov r12d, r11d
    and r12d, {READABLE_ENDPOINT_MASK}
    cmp r12d, {READABLE_ENDPOINT}
    jne 9b
    sar r11, {OBJECT_SHIFT} - 4
.if {CORES} > 1
    mov r12, [rbp + {CORE_BITS}]
    xor r12, [r11 + {ENDPOINT_QUEUE}]
    test r12, {NO_THRESHOLD}
.else
    test qword ptr [r11 + {ENDPOINT_QUEUE}], {NO_THRESHOLD}
.endif
    jnz 9b
    # Not eligible if a notification is bound to the server.
    cmp qword ptr [rsp + {NOTIFICATION}], 0
    jne 9b

    # The reply object, R13.
    mov r13, [rsp + {REPLY}]
    mov r14, r13
    shr r14, cl
    cmp r14, [rsp + {CSPACE} + 8]
    jne 9b
    shl r14, cl
    sub r13, r14
    shl r13, {SLOT_BITS}
    mov r13, [rax + r13]
    mov r14d, r13d
    and r14d, {KIND_MASK}
    cmp r14d, {REPLY_KIND}
    jne 9b
    sar r13, {OBJECT_SHIFT} - 4

    # R12 is the caller, RBX its registers: it waits for the reply to a call with which it donated its
    # scheduling context, R14.
    mov r12, [r13 + {REPLY_THREAD}]
.if {CORES} > 1
    # This core owns the caller, the reply object, and that of the next outer call.
    mov rax, [rbp + {CORE_BITS}]
    xor r12, rax
    test r12d, {CORE_MASK}
    jnz 9b
    test r12, r12
    jz 9b
    mov rcx, [r13 + {REPLY_BELOW}]
    test rcx, rcx
    jz 2f
    mov ecx, [rcx + {REPLY_THREAD}]
    xor ecx, eax
    test ecx, {CORE_MASK}
    jnz 9b
2:  lea rbx, [r12 + {REGISTERS}]
    movzx ecx, byte ptr [rbx + {THREAD_CORE}]
    shl ecx, {CORE_SHIFT}
    cmp ecx, eax
    jne 9b
.else
    test r12, r12
    jz 9b
    lea rbx, [r12 + {REGISTERS}]
.endif
    cmp qword ptr [rbx + {STATE}], {BLOCKED_ON_REPLY}
    jne 9b
    cmp qword ptr [rbx + {FAULT}], {NO_FAULT}
    jne 9b
    cmp qword ptr [rbx + {SCHED_CONTEXT}], 0
    jne 9b
    mov r14, [rbp + {CURRENT_CONTEXT}]
    cmp qword ptr [r13 + {REPLY_ABOVE}], {ABOVE_CONTEXT}
    jne 9b
    cmp [r13 + {REPLY_ABOVE_WHICH}], r14
    jne 9b
    escapement_require_next
    escapement_require_known

    # No exit to the slow path from here on. The reply object leaves the call chain of the context.
    mov qword ptr [rbx + {STATE}], {RUNNING}
    mov rcx, [r13 + {REPLY_BELOW}]
    mov [r14 + {CONTEXT_REPLY}], rcx
    mov qword ptr [r13 + {REPLY_BELOW}], 0
    mov qword ptr [r13 + {REPLY_ABOVE}], {ABOVE_NONE}
    test rcx, rcx
    jz 3f
    mov qword ptr [rcx + {REPLY_ABOVE}], {ABOVE_CONTEXT}
    mov [rcx + {REPLY_ABOVE_WHICH}], r14

    # The server, RDX, waits for the next call, as the only thread.
3:
.if {CORES} > 1
    mov rcx, [rbp + {CORE_BITS}]
    or rcx, rdx
    mov [r13 + {REPLY_THREAD}], rcx
.else
    mov [r13 + {REPLY_THREAD}], rdx
.endif
    mov qword ptr [rsp + {STATE}], {BLOCKED_ON_RECEIVE}
    mov [rsp + {RECEIVES_FROM}], r11
    mov [rsp + {RECEIVES_WITH}], r13
    mov byte ptr [rsp + {MEMBERSHIP}], {WAITING}
    movzx eax, byte ptr [rsp + {PRIORITY}]
    xor eax, {HIGHEST_PRIORITY}
    mov [rsp + {KEY}], rax
    xor edi, edi
    mov [rsp + {PARENT}], rdi
    mov [rsp + {CHILDREN}], rdi
    mov [rsp + {CHILDREN} + 8], rdi
    mov [rsp + {NEXT}], rdx
    mov [rsp + {PREVIOUS}], rdx
    lea rax, [rdx + {ENDPOINT_RECEIVING}]
    or [r11 + {ENDPOINT_QUEUE}], rax
