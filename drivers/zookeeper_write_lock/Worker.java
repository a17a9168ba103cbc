// ZooKeeper's own WriteLock under `picklock try zookeeper`: takes a lock again and again, and says to the witness when it is in.
//
//   apt-get install libzookeeper-java
//   picklock try zookeeper -- java -cp '/usr/share/java/*' drivers/zookeeper_write_lock/Worker.java
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.Socket;
import java.util.concurrent.Semaphore;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

public class Worker {
    static BufferedReader answers;
    static PrintWriter witness;

    /** Says it, and waits until it was heard. */
    static String say(String line) throws Exception {
        witness.println(line);
        return answers.readLine();
    }

    public static void main(String[] arguments) throws Exception {
        int leaseMs = Integer.parseInt(System.getenv("PICKLOCK_LEASE_MS"));
        String[] address = System.getenv("PICKLOCK_WITNESS").split(":");
        Socket socket = new Socket(address[0], Integer.parseInt(address[1]));
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream()));
        witness = new PrintWriter(socket.getOutputStream(), true);
        ZooKeeper zk = new ZooKeeper(System.getenv("PICKLOCK_ZOOKEEPER"), leaseMs, event -> {});
        Semaphore held = new Semaphore(0);
        LockListener listener = new LockListener() {
            public void lockAcquired() { held.release(); }
            public void lockReleased() {}
        };
        while ("ok".equals(say("want orders"))) {
            try {
                // A lock for each time: it is told when it has it, however long that takes.
                WriteLock lock = new WriteLock(zk, "/orders", Ids.OPEN_ACL_UNSAFE, listener);
                lock.lock();
                held.acquire();
                say("enter orders");
                Thread.sleep((long) (leaseMs * (0.02 + 0.05 * Math.random())));
                say("write orders");
                say("leave orders");
                lock.unlock();
            } catch (KeeperException | RuntimeException error) {
                Thread.sleep(50); // the servers are away, or the session is over
            }
        }
        System.exit(0);
    }
}
