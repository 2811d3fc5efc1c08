// Grpc_server is a gRPC server that says which one it is: the interoperability suite's service,
// health and reflection, and `x-server: NAME` with every answer. In: -name, and -cert and -key for
// TLS. Out: a line with its port, then answers, until its standard input ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
)

func main() {
	name := flag.String("name", "", "what it says of itself")
	certificate := flag.String("cert", "", "PEM file of the certificate")
	key := flag.String("key", "", "PEM file of its key")
	flag.Parse()
	header := metadata.Pairs("x-server", *name)
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(func(
			ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
		) (any, error) {
			grpc.SetHeader(ctx, header)
			return handle(ctx, request)
		}),
		grpc.StreamInterceptor(func(
			server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler,
		) error {
			stream.SetHeader(header)
			return handle(server, stream)
		}),
	}
	if *certificate != "" {
		secure, err := credentials.NewServerTLSFromFile(*certificate, *key)
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(secure))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(options...)
	grpc_testing.RegisterTestServiceServer(
		server, interop.NewTestServer(interop.NewTestServerOptions{}),
	)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	go server.Serve(listener)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}
