// The EdgeApp operator in Go without a store: see internal/storeless and the README. The garbage
// collector is set from outside, by GOGC and GOMEMLIMIT.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tare.dev/league/controller-runtime/internal/storeless"
	"tare.dev/league/controller-runtime/internal/version"
)

func main() {
	admin := flag.String("admin", "127.0.0.1:8080", "address of /metrics, /healthz and /readyz")
	showVersion := flag.Bool("version", false, "print version and commit")
	flag.Parse()
	if *showVersion {
		fmt.Println(version.Line("controller-runtime-storeless"))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *admin); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, admin string) error {
	config, err := storeless.LoadConfig()
	if err != nil {
		return err
	}
	operator := storeless.New(config)
	listener, err := net.Listen("tcp", admin)
	if err != nil {
		return fmt.Errorf("cannot serve on --admin %s: %w", admin, err)
	}
	server := &http.Server{Handler: operator.Admin(), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	defer server.Close()
	// Ends with the process.
	go func() { _ = server.Serve(listener) }()
	operator.Run(ctx)
	return nil
}
