// Redisson under `picklock try`: takes a lock again and again, and says to the witness when it is in.
//
//   mvn -q -f drivers/redisson dependency:copy-dependencies -DoutputDirectory=jars
//   picklock try --servers 1 -- java -cp 'drivers/redisson/jars/*' drivers/redisson/Worker.java
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

public class Worker {
    static BufferedReader answers;
    static PrintWriter witness;

    /** Says it, and waits until it was heard. */
    static String say(String line) throws Exception {
        witness.println(line);
        return answers.readLine();
    }

    public static void main(String[] arguments) throws Exception {
        long leaseMs = Long.parseLong(System.getenv("PICKLOCK_LEASE_MS"));
        String[] address = System.getenv("PICKLOCK_WITNESS").split(":");
        Socket socket = new Socket(address[0], Integer.parseInt(address[1]));
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream()));
        witness = new PrintWriter(socket.getOutputStream(), true);
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + System.getenv("PICKLOCK_REDIS").split(",")[0])
              .setTimeout(500).setRetryAttempts(0).setConnectionMinimumIdleSize(1).setConnectionPoolSize(2);
        // With a lease of its own the lock is not prolonged; without one, Redisson's watchdog does that.
        boolean prolongs = System.getenv("WATCHDOG") != null;
        config.setLockWatchdogTimeout(leaseMs);
        RLock lock = Redisson.create(config).getLock("orders");
        while ("ok".equals(say("want orders"))) {
            try {
                if (!lock.tryLock(500, prolongs ? -1 : leaseMs, TimeUnit.MILLISECONDS)) continue;
                say("enter orders");
                Thread.sleep((long) (leaseMs * (0.1 + (prolongs ? 1.4 : 0.3) * Math.random())));
                say("write orders"); // this library's lock has no token that the write could carry
                say("leave orders");
                lock.unlock();
            } catch (RedisException | IllegalMonitorStateException error) {
                Thread.sleep(50); // the server is away, or the lock was somebody else's when it was given back
            }
        }
        System.exit(0);
    }
}
