package dev.tare.league;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.javaoperatorsdk.operator.Operator;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** The admin port: `/readyz` and `/metrics`, served by the JDK. */
public final class Admin {

  private Admin() {}

  /** Serves on the address that follows `--admin` until the process ends. */
  public static void serve(String[] args, Operator operator, ReconcileMetrics metrics)
      throws IOException {
    HttpServer server = HttpServer.create(address(args), 0);
    server.createContext("/metrics", exchange -> answer(exchange, 200, metrics.render()));
    server.createContext(
        "/readyz",
        exchange -> {
          if (operator.getRuntimeInfo().allEventSourcesAreHealthy()) {
            answer(exchange, 200, "ok\n");
          } else {
            answer(exchange, 503, "not watching\n");
          }
        });
    server.start();
  }

  private static InetSocketAddress address(String[] args) {
    if (args.length != 2 || !args[0].equals("--admin") || !args[1].matches(".+:[0-9]+")) {
      throw new IllegalArgumentException("usage: --admin HOST:PORT");
    }
    int colon = args[1].lastIndexOf(':');
    int port = Integer.parseInt(args[1].substring(colon + 1));
    return new InetSocketAddress(args[1].substring(0, colon), port);
  }

  private static void answer(HttpExchange exchange, int code, String text) throws IOException {
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(code, body.length);
    try (var out = exchange.getResponseBody()) {
      out.write(body);
    }
  }
}
