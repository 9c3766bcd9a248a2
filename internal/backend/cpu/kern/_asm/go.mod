module github.com/paddock-go/paddock/internal/backend/cpu/kern/_asm

go 1.26.0
