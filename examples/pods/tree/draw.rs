//! Ways from roots down to one leaf, drawn as a tree.

/// Each way is the names from a root to the leaf; roots and branches stay in the order of the ways.
pub fn tree(ways: &[Vec<String>]) -> String {
    let mut forest = Vec::new();
    for way in ways {
        plant(&mut forest, way);
    }
    let mut text = String::new();
    for root in &forest {
        draw(root, "", "", &mut text);
    }
    text
}

struct Node<'a> {
    name: &'a str,
    children: Vec<Node<'a>>,
}

/// Adds a way from a root down; what two ways share from the root is there once.
fn plant<'a>(forest: &mut Vec<Node<'a>>, way: &'a [String]) {
    let Some((name, below)) = way.split_first() else {
        return;
    };
    let at = forest.iter().position(|node| node.name == name);
    let at = at.unwrap_or_else(|| {
        let children = Vec::new();
        forest.push(Node { name, children });
        forest.len() - 1
    });
    plant(&mut forest[at].children, below);
}

fn draw(node: &Node, branch: &str, indent: &str, text: &mut String) {
    text.push_str(&format!("{branch}{}\n", node.name));
    let last = node.children.len().saturating_sub(1);
    for (i, child) in node.children.iter().enumerate() {
        let (branch, below) = if i == last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let branch = format!("{indent}{branch}");
        draw(child, &branch, &format!("{indent}{below}"), text);
    }
}
