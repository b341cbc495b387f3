package dev.tare.league;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Every jar that a subject runs with is in dependencies.sha256, and nothing else is.
 *
 * <p>After a change of versions:
 * {@code (cd target/lib && sha256sum documented/*.jar tuned/*.jar) > dependencies.sha256}.
 */
class DependenciesTest {

  @Test
  void theJarsAreThoseOfTheLock() throws IOException, NoSuchAlgorithmException {
    var want = new TreeMap<String, String>();
    for (String line : Files.readAllLines(Path.of("dependencies.sha256"))) {
      String[] columns = line.split(" +", 2);
      want.put(columns[1], columns[0]);
    }
    Path lib = Path.of("target/lib");
    var got = new TreeMap<String, String>();
    try (var files = Files.walk(lib)) {
      for (Path jar : files.filter(Files::isRegularFile).toList()) {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(jar));
        got.put(lib.relativize(jar).toString(), HexFormat.of().formatHex(digest));
      }
    }
    assertEquals(want, got);
  }
}
