// Whose key does Redisson's watchdog prolong? A holds without a lease; the server loses power, and the lock with it;
// B takes the lock with a lease of 1.5 s, and never prolongs it. A still believes that it holds. How long does B's key live?
//
//   mvn -q -f drivers/redisson dependency:copy-dependencies -DoutputDirectory=jars
//   picklock serve redis --listen 127.0.0.1:7391 --plan drivers/plans/power-loss-every-8s.json &
//   java -cp 'drivers/redisson/jars/*' drivers/redisson/Watchdog.java redis://127.0.0.1:7391
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Watchdog {
    static RedissonClient client(String address) {
        Config config = new Config();
        config.setLockWatchdogTimeout(1000);
        config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(1).setConnectionPoolSize(2);
        return Redisson.create(config);
    }

    public static void main(String[] arguments) throws Exception {
        RedissonClient a = client(arguments[0]), b = client(arguments[0]);
        for (int round = 1; round <= 10; round++) {
            RLock held = a.getLock("orders"), taken = b.getLock("orders");
            held.lock();
            // Once the server has forgotten A's lock, it is B's.
            for (boolean got = false; !got;) {
                try {
                    got = taken.tryLock(0, 1500, TimeUnit.MILLISECONDS);
                } catch (RuntimeException error) {
                    // the server is away
                }
                Thread.sleep(10);
            }
            long since = System.nanoTime();
            while (taken.isLocked() && System.nanoTime() - since < 5e9) Thread.sleep(10);
            boolean there = taken.isLocked();
            String said = there ? "is there still after %.2f s" : "is over after %.2f s";
            System.out.printf("round %d: B's key " + said + "%n", round, (System.nanoTime() - since) / 1e9);
            try {
                held.unlock();
                System.out.println("A's unlock was accepted");
            } catch (IllegalMonitorStateException error) {
                // it was B's, or nobody's
            }
            taken.forceUnlock();
        }
        a.shutdown();
        b.shutdown();
    }
}
