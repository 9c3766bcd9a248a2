// Command embed is a service that was there before paddock: it has a mux and
// routes of its own. Three lines add a model, its API and its metrics.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/metrics"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	key := flag.String("api-key", "", "key that clients from the network must bring to /v1/")
	flag.Parse()

	eng, err := paddock.OpenFS(demo.Files, demo.Name, paddock.Options{Name: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	srv := &http.Server{Addr: *addr, Handler: newMux(eng, *key), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { srv.Close() })
	fmt.Printf("http://%s/price/42 is the service's own; /v1/ and /metrics are paddock's\n", *addr)
	if err := srv.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}

// newMux is the service's mux with paddock beside its own routes.
func newMux(eng *paddock.Engine, key string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /price/{item}", price)
	mux.HandleFunc("GET /explain/{metric}", func(w http.ResponseWriter, r *http.Request) { explain(w, r, eng) })

	// A key opens the API to the network; without one only this machine may call it.
	mux.Handle("/v1/", paddock.NewHandlerWith(eng, paddock.HandlerOptions{Key: key, RequireKey: true}))
	mux.Handle("GET /metrics", metrics.Handler())
	return mux
}

// price is what the service did all along.
func price(w http.ResponseWriter, r *http.Request) {
	json.NewEncoder(w).Encode(map[string]any{"item": r.PathValue("item"), "price": 12.5})
}

// explain uses the engine from a route of the service's own.
func explain(w http.ResponseWriter, r *http.Request, eng *paddock.Engine) {
	res, err := eng.Complete(r.Context(), paddock.Request{
		Messages:  []paddock.Message{{Role: "user", Content: "What does " + r.PathValue("metric") + " count?"}},
		MaxTokens: 64,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, res.Text)
}
