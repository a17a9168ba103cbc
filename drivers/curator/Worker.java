// Curator's InterProcessMutex under `picklock try zookeeper`: takes a lock again and again, and says to the witness when it is in.
//
//   mvn -q -f drivers/curator dependency:copy-dependencies -DoutputDirectory=jars
//   picklock try zookeeper -- java -cp 'drivers/curator/jars/*' drivers/curator/Worker.java
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

public class Worker {
    static BufferedReader answers;
    static PrintWriter witness;
    static volatile boolean connected = true;

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
        String servers = System.getenv("PICKLOCK_ZOOKEEPER");
        // For how long it waits for a connection, and how often a request is tried again, each time when there is one.
        int patienceMs = Integer.parseInt(System.getenv().getOrDefault("PATIENCE_MS", "5000"));
        int retries = Integer.parseInt(System.getenv().getOrDefault("RETRIES", "5"));
        CuratorFramework client =
            CuratorFrameworkFactory.newClient(servers, leaseMs, patienceMs, new RetryNTimes(retries, 100));
        // Curator's advice: who is suspended must take it that the lock is somebody else's.
        client.getConnectionStateListenable().addListener((who, state) -> connected = state.isConnected());
        client.start();
        InterProcessMutex lock = new InterProcessMutex(client, "/orders");
        while ("ok".equals(say("want orders"))) {
            try {
                if (!lock.acquire(15, TimeUnit.SECONDS)) continue;
                say("enter orders");
                long until = System.nanoTime() + (long) (leaseMs * 1e6 * (0.1 + 1.4 * Math.random()));
                while (connected && System.nanoTime() < until) Thread.sleep(10);
                if (connected) say("write orders");
                say(connected ? "leave orders" : "lost orders");
                lock.release();
            } catch (Exception error) {
                Thread.sleep(50); // the servers are away, or the session is over
            }
        }
        System.exit(0);
    }
}
