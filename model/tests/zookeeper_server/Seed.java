// Writes a snapshot in which "/lock" has had as many children as an int can count, but one: to get there through the
// front door takes two billion creates.
import java.io.File;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

public class Seed {
    public static void main(String[] arguments) throws Exception {
        File directory = new File(arguments[0]);
        DataTree tree = new DataTree();
        tree.createNode("/lock", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, 0, -1, 1, 1);
        tree.getNode("/lock").stat.setCversion(Integer.MAX_VALUE - 1);
        tree.lastProcessedZxid = 1;
        FileTxnSnapLog log = new FileTxnSnapLog(directory, directory);
        log.save(tree, new ConcurrentHashMap<>(), true);
        log.close();
    }
}
