package fakedriver

import "syscall"

// thread tells the calling thread from others.
func thread() int { return syscall.Gettid() }
