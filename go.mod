module github.com/paddock-go/paddock

go 1.26.0

require (
	github.com/prometheus/client_golang v1.25.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
