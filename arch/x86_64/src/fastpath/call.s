    # Call. The capability to the endpoint, and its badge.
6:  escapement_find
    mov r12d, r11d
    and r12d, {WRITABLE_ENDPOINT_MASK}
    cmp r12d, {WRITABLE_ENDPOINT}
    jne 9b
    test r11d, {MAY_REPLY}
    jz 9b
    mov rdi, [rdi + 8]
    sar r11, {OBJECT_SHIFT}
    shl r11, 4

    # A receiver waits, alone. R12 is the server, RBX its registers. Who waits there is blocked on
    # receive. If the endpoint is of this core, so is the server with all that it has.
    mov rbx, [r11 + {ENDPOINT_QUEUE}]
    mov eax, ebx
    and eax, {ENDPOINT_STATE_MASK}
.if {CORES} > 1
    cmp eax, [rbp + {GATE_RECEIVING}]
    jne 9b
    and rbx, {NO_MARKS}
    mov r12, rbx
    add rbx, {REGISTERS}
.else
    cmp eax, {ENDPOINT_RECEIVING}
    jne 9b
    lea r12, [rbx - {ENDPOINT_RECEIVING}]
    add rbx, {REGISTERS} - {ENDPOINT_RECEIVING}
.endif
    mov rax, [rbx + {CHILDREN}]
    or rax, [rbx + {CHILDREN} + 8]
    jnz 9b
    cmp [rbx + {NEXT}], r12
    jne 9b

    # It has a reply object, R13, and no time of its own.
    mov r13, [rbx + {RECEIVES_WITH}]
    test r13, r13
    jz 9b
    cmp qword ptr [rbx + {SCHED_CONTEXT}], 0
    jne 9b
    escapement_require_next
    escapement_require_known

    # From here on nothing declines. The server waits no more, and the caller, RDX, for the reply.
    mov r14, [rbp + {CONTEXT}]
.if {CORES} > 1
    mov rax, [rbp + {GATE_BITS}]
    mov [r11 + {ENDPOINT_QUEUE}], rax
    or rdx, rax
.else
    mov qword ptr [r11 + {ENDPOINT_QUEUE}], 0
.endif
    mov qword ptr [rbx + {NEXT}], 0
    mov qword ptr [rbx + {PREVIOUS}], 0
    mov byte ptr [rbx + {MEMBERSHIP}], {NO_MEMBER}
    mov qword ptr [rbx + {STATE}], {RUNNING}
    mov [r13 + {REPLY_THREAD}], rdx
    mov qword ptr [rsp + {STATE}], {BLOCKED_ON_REPLY}
    mov [rsp + {CALLS_WITH}], r13

    # The reply object becomes the top of the stack of the context, R14, that goes along.
    mov rcx, [r14 + {CONTEXT_REPLY}]
    mov [r14 + {CONTEXT_REPLY}], r13
    mov [r13 + {REPLY_BELOW}], rcx
    mov qword ptr [r13 + {REPLY_ABOVE}], {ABOVE_CONTEXT}
    mov [r13 + {REPLY_ABOVE_WHICH}], r14
    test rcx, rcx
    jz 7f
    mov qword ptr [rcx + {REPLY_ABOVE}], {ABOVE_REPLY}
    mov [rcx + {REPLY_ABOVE_WHICH}], r13
    jmp 7f
