// Package gateway holds paddock's page against the endpoint picker of the Gateway
// API inference extension: its own data source and extractor read it. It is a
// module of its own beside conformance, since that extension brings the trees of
// Kubernetes and Prometheus with it.
package gateway
